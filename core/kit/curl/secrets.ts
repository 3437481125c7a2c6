// Finds the credentials in an example request, so that none of them is copied: each becomes a placeholder.
import { isSecretName } from '../secret-names.ts'
import type { CurlRequest } from './read-curl.ts'

/** Credentials that are recognized by their form, whatever field they are in. */
const knownForms = new RegExp(
  [
    String.raw`\b(?:sk|pk|rk)_(?:live|test)_\w{8,}`,
    String.raw`\bwhsec_[\w+/=]{8,}`,
    String.raw`\bxox[a-z]-[\w-]{8,}`,
    String.raw`\bgh[opsru]_\w{16,}`,
    String.raw`\bglpat-[\w-]{16,}`,
    String.raw`\bAKIA[A-Z\d]{16}\b`,
    String.raw`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`,
  ].join('|'),
  'g',
)

/** @param prefix of the placeholders, such as `ORDERS` in `${ORDERS_TOKEN}` */
export function removeSecrets({ payload, headers, url }: CurlRequest, prefix: string) {
  const shown = secretsIn(headers, url)
  const replaced: string[] = []

  function clean(value: unknown, path: readonly string[]): unknown {
    if (Array.isArray(value)) return value.map((item, index) => clean(item, [...path, String(index)]))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, clean(inner, [...path, key])]))
    if (!['string', 'number', 'bigint'].includes(typeof value)) return value
    const name = lastName(path)
    const placeholder = `\${${prefix}_${variableOf(isSecretName(name) ? name : 'secret')}}`
    const known = shown.reduce(
      (text, secret) => text.replaceAll(secret, placeholder),
      String(value).replaceAll(knownForms, placeholder),
    )
    const text = isSecretName(name) && value !== '' ? placeholder : known
    if (text === String(value)) return value
    replaced.push(path.join('.'))
    return text
  }

  return { payload: clean(payload, []), replaced }
}

/** `X-Api-Key` → `X_API_KEY` */
export const variableOf = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, '_')
    .replaceAll(/\W+/g, '_')
    .toUpperCase()

/** The credentials in headers and in the address, and their parts. Short ones would match by chance. */
function secretsIn(headers: CurlRequest['headers'], url: string | undefined): string[] {
  const address = url !== undefined && URL.canParse(url) ? new URL(url) : undefined
  const named = [...Object.entries(headers), ...(address?.searchParams ?? [])].filter(([name]) => isSecretName(name))
  const values = [...named.map(([, value]) => value), address?.password ?? '']
  return [...values, ...values.flatMap((value) => value.split(/[\s,;:=]+/))].filter(
    (value) => value.length >= 8 && !/^\d+$/.test(value),
  )
}

/** The innermost name that is not an index. */
export const lastName = (keys: readonly string[]): string => keys.findLast((key) => !/^\d+$/.test(key)) ?? ''
