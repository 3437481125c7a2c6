// Writes a stored request as a curl command.
import { shellQuote } from '../ui/format.ts'

export interface CurlRequest {
  /** The address of the hook. */
  url: string
  headers: Readonly<Record<string, string>>
  query: Readonly<Record<string, string | readonly string[]>>
  body: string | null
}

/** Headers that curl writes itself, or that belong to one connection. */
const ownHeaders =
  /^(?:host|content-length|connection|accept-encoding|transfer-encoding|expect|x-forwarded-.*|forwarded|via)$/i

/** What the gateway stores instead of a credential or a signature. */
const redacted = '[redacted]'

/** The credential is not stored, so the command reads it from `$HOOK_TOKEN`. */
export function formatCurl({ url, headers, query, body }: CurlRequest): string {
  const address = new URL(url)
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) address.searchParams.append(name, one)
  const given = Object.entries(headers).filter(([name, value]) => !ownHeaders.test(name) && value !== redacted)
  return [
    `curl -sS ${shellQuote(address.href)}`,
    `-H "Authorization: Bearer $HOOK_TOKEN"`,
    ...given.map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    ...(body === null ? ['-X POST'] : [`--data-raw ${shellQuote(body)}`]),
  ].join(' \\\n  ')
}
