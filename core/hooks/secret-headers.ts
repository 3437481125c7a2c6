// What is never kept or shown: headers, parameters and fields that hold a credential or a signature.
import { remembered } from '../http/remembered.ts'

const secretName = /authori[sz]ation|authentication|cookie|token|secret|signature|hmac|passw(?:or)?d|credential|jwt|assertion|api-?key/

/** Whether the header of this name, in lower case, may hold a credential or a signature. */
export const isSecretHeader = remembered((name) => secretName.test(name))

/** The same for a parameter of an address, and a field of a body: those have short names, too. */
export const isSecretParameter = (name: string): boolean =>
  isSecretHeader(name.toLowerCase().replaceAll('_', '-')) || /(?:^|[._-])(?:sig|key|auth|pass|pwd)$/i.test(name)

/** The query of a request as it is kept, as JSON; undefined: there is none. */
export function keptQuery(query: unknown): string | undefined {
  const entries = Object.entries(query as Record<string, unknown>)
  if (entries.length === 0) return undefined
  return JSON.stringify(Object.fromEntries(entries.map(([name, value]) => [name, isSecretParameter(name) ? redacted : value])))
}

/** What a template or a transform sees of a query that was kept. */
export const visibleQuery = (query: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !isSecretParameter(name)))

export const redacted = '[redacted]'

/** What a template or a transform sees of a request's headers. `hidden`: further names in lower case, such as that of a signature of one's own. */
export function visibleHeaders(headers: Readonly<Record<string, string | string[] | undefined>>, hidden: readonly string[] = []): Record<string, string> {
  const visible: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && !isSecretHeader(name) && !hidden.includes(name)) visible[name] = String(value)
  }
  return visible
}
