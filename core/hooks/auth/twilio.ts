// The signed content of Twilio: the URL and the sorted fields of a form, or the URL with the hash of a JSON body.
import { hash } from 'node:crypto'
import type { SignedRequest } from './verifier.ts'

/** Returns undefined when the URL holds the hash of another body. */
export function twilioText({ url: readUrl, rawBody }: Pick<SignedRequest, 'url' | 'rawBody'>): string | undefined {
  const url = readUrl()
  const bodyHash = new URLSearchParams(url.split('?', 2)[1]).get('bodySHA256')
  if (bodyHash !== null) return bodyHash === hash('sha256', rawBody, 'hex') ? url : undefined
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
