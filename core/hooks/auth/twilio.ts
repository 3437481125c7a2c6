// What Twilio signs: the address, and the fields of a form in alphabetical order; of a JSON body only the hash, which
// is in the address.
import { hash } from 'node:crypto'
import type { SignedRequest } from './verifier.ts'

/** @returns undefined when the body is not the one that the address speaks of. */
export function twilioText({ url: readUrl, rawBody }: Pick<SignedRequest, 'url' | 'rawBody'>): string | undefined {
  const url = readUrl()
  const bodyHash = new URLSearchParams(url.split('?', 2)[1]).get('bodySHA256')
  if (bodyHash !== null) return bodyHash === hash('sha256', rawBody, 'hex') ? url : undefined
  const form = new URLSearchParams(rawBody.toString('utf8'))
  const names = [...new Set(form.keys())].toSorted(byCodeUnit)
  return url + names.map((name) => fieldText(name, form.getAll(name))).join('')
}

/** The same value twice counts once. */
const fieldText = (name: string, values: string[]): string =>
  [...new Set(values)]
    .toSorted(byCodeUnit)
    .map((value) => name + value)
    .join('')

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
