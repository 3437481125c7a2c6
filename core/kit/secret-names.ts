// Which headers, query parameters and fields hold a credential or a signature: they are neither stored nor shown.

/** Words that mark a credential or a signature anywhere in a name. */
const secretWord = new RegExp(
  [
    'authori[sz]ation|authentication|cookie|token|secret|signature|hmac|passw(?:or)?d|passphrase|passcode|credential',
    'jwt|assertion|bearer|[cx]srf|session[-_]?id',
    '(?:api|auth|access|private|shared|signing|client|master|admin|license)[-_]?key',
  ].join('|'),
)
/** Words that do so at the end of a name: `x-functions-key`, `sig`. */
const secretEnd = /(?:^|[._-])(?:sig|key|auth|pass|pwd|otp|pin)$/
/** Keys that identify something and protect nothing. */
const harmlessKey = new RegExp(
  '(?:^|[._-])(?:event|idempotency|issue|message|object|partition|routing|cache|surrogate' +
    '|dedup(?:e|lication)?)[-_]key$',
)

/** Whether the header, the query parameter or the field of this name may hold a credential or a signature. */
export function isSecretName(name: string): boolean {
  const lower = name.toLowerCase()
  return secretWord.test(lower) || (secretEnd.test(lower) && !harmlessKey.test(lower))
}

/** The query of a request as JSON without its secrets; undefined when it has none. */
export function redactQuery(query: unknown): string | undefined {
  const entries = Object.entries(query as Record<string, unknown>)
  if (entries.length === 0) return undefined
  return JSON.stringify(
    Object.fromEntries(entries.map(([name, value]) => [name, isSecretName(name) ? redacted : value])),
  )
}

/** The part of a stored query that templates and transforms may read. */
export const visibleQuery = (query: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !isSecretName(name)))

export const redacted = '[redacted]'

/**
 * The headers that templates and transforms may read. `hidden` lists further names, in lower case, such as the header
 * of a custom signature.
 */
export function visibleHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  hidden: readonly string[] = [],
): Record<string, string> {
  const visible: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && !isSecretName(name) && !hidden.includes(name)) visible[name] = String(value)
  }
  return visible
}
