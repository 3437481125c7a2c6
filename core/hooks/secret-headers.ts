// What is never kept or shown: headers, parameters and fields that hold a credential or a signature.
import { memoize } from '../http/memoize.ts'

/** Words that speak of a credential or a signature wherever they are in a name. */
const secretWord =
  /authori[sz]ation|authentication|cookie|token|secret|signature|hmac|passw(?:or)?d|passphrase|passcode|credential|jwt|assertion|bearer|[cx]srf|session-?id|(?:api|auth|access|private|shared|signing|client|master|admin|license)-?key/
/** Words that do so at the end: `x-functions-key`, `sig`. */
const secretEnd = /(?:^|[.-])(?:sig|key|auth|pass|pwd|otp|pin)$/
/** Keys that open nothing: they say what happened, where it belongs, or that it came before. */
const harmlessKey =
  /(?:^|[.-])(?:event|idempotency|issue|message|object|partition|routing|cache|surrogate|dedup(?:e|lication)?)-key$/

function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replaceAll('_', '-')
  return secretWord.test(plain) || (secretEnd.test(plain) && !harmlessKey.test(plain))
}

/** Whether the header of this name may hold a credential or a signature. */
export const isSecretHeader = memoize(isSecretName)

/** The same for a parameter of an address, and a field of a body. */
export const isSecretParameter = isSecretName

/** The query of a request as it is kept, as JSON; undefined: there is none. */
export function redactQuery(query: unknown): string | undefined {
  const entries = Object.entries(query as Record<string, unknown>)
  if (entries.length === 0) return undefined
  return JSON.stringify(
    Object.fromEntries(entries.map(([name, value]) => [name, isSecretParameter(name) ? redacted : value])),
  )
}

/** What a template or a transform sees of a query that was kept. */
export const visibleQuery = (query: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !isSecretParameter(name)))

export const redacted = '[redacted]'

/**
 * What a template or a transform sees of a request's headers. `hidden`: further names in lower case, such as that of a
 * signature of one's own.
 */
export function visibleHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  hidden: readonly string[] = [],
): Record<string, string> {
  const visible: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && !isSecretHeader(name) && !hidden.includes(name)) visible[name] = String(value)
  }
  return visible
}
