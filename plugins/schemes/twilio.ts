// The scheme of Twilio: it signs the URL and the sorted fields of a form, or the URL with the hash of a JSON body.
import { createHmac, hash } from 'node:crypto'
import { defineScheme, type OutgoingRequest, type SignContext, type SignedRequest } from 'svc-gateway/plugin'

const header = 'x-twilio-signature'

export default defineScheme({
  name: 'twilio',
  description: 'Webhooks of Twilio.',
  signatures: [{ header, algorithm: 'sha1', encoding: 'base64', signed: signedContent }],
  covers: ['url'],
  sign,
})

/** Returns undefined if the URL holds the hash of another body. */
function signedContent({ url: readUrl, rawBody }: Pick<SignedRequest, 'url' | 'rawBody'>): string | undefined {
  const url = readUrl()
  const bodyHash = new URLSearchParams(url.split('?', 2)[1]).get('bodySHA256')
  if (bodyHash !== null) return bodyHash.toLowerCase() === hash('sha256', rawBody, 'hex') ? url : undefined
  const form = new URLSearchParams(rawBody.toString('utf8'))
  const names = [...new Set(form.keys())].toSorted(byCodeUnit)
  return url + names.map((name) => fieldText(name, form.getAll(name))).join('')
}

/** A repeated value is signed once. */
const fieldText = (name: string, values: string[]): string =>
  [...new Set(values)]
    .toSorted(byCodeUnit)
    .map((value) => name + value)
    .join('')

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function sign({ url: called, headers, body }: OutgoingRequest, { secret, signedUrl }: SignContext) {
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  const url = isForm ? called : withBodyHash(called, body)
  const content = signedContent({ url: () => signedUrl(url), rawBody: body }) ?? ''
  return { url, headers: { [header]: createHmac('sha1', secret).update(content).digest('base64') } }
}

function withBodyHash(url: string, body: Buffer): string {
  const address = new URL(url)
  address.searchParams.set('bodySHA256', hash('sha256', body))
  return address.href
}
