// Redacts what is stored of a request: credentials and signatures in its headers, and tokens in the body of a handshake.
import type { IncomingHttpHeaders } from 'node:http'
import { readJson } from '../json.ts'
import { isSecretName, redacted } from '../kit/secret-names.ts'

/** All headers as JSON; credentials and signatures are redacted. */
export function redactHeaders(headers: IncomingHttpHeaders, hidden: readonly string[]): string {
  const redactedHeaders: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    redactedHeaders[name] = isSecretName(name) || hidden.includes(name) ? redacted : String(value)
  }
  return JSON.stringify(redactedHeaders)
}

/** The same JSON; whatever has the name of a secret is redacted. */
export const redactBody = (body: string): string =>
  JSON.stringify(readJson(body), (name, value: unknown) => (isSecretName(name) ? redacted : value))
