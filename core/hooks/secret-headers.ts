// Headers that are never kept, shown, or seen by a template: credentials and signatures.

const secretName = /authori[sz]ation|authentication|cookie|token|secret|signature|hmac|passw(?:or)?d|credential|jwt|assertion|api-?key/

/** Whether the header of this name, in lower case, may hold a credential or a signature. */
export const isSecretHeader = (name: string): boolean => secretName.test(name)

/** What a template or a transform sees of a request's headers. `hidden`: further names in lower case, such as that of a signature of one's own. */
export function visibleHeaders(headers: Readonly<Record<string, unknown>>, hidden: readonly string[] = []): Record<string, string> {
  const visible = Object.entries(headers).filter(([name, value]) => value !== undefined && !isSecretHeader(name) && !hidden.includes(name))
  return Object.fromEntries(visible.map(([name, value]) => [name, String(value)]))
}
