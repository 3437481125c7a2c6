// Generic verification requests: the gateway echoes what a service sends to check the address.
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { GatewayError } from '../../errors.ts'
import type { Verifier } from './verifier.ts'

/** The header may hold a secret of the service, so nothing else sees it. */
export function withEcho(
  verifier: Verifier,
  { query, header, head = false }: NonNullable<HookAuth['handshake']>,
): Verifier {
  const name = header?.toLowerCase()
  const hiddenHeaders = name === undefined ? verifier.hiddenHeaders : [...verifier.hiddenHeaders, name]
  return { ...verifier, hiddenHeaders, echo: { query, header: name, head } }
}

const maxEchoLength = 256

/** Anybody may ask for an echo, so it is short and has nothing but printable ASCII characters. */
export function checkEcho(value: string, name: string): string {
  if (/^[\x20-\x7e]+$/.test(value) && value.length <= maxEchoLength) return value
  throw new GatewayError(
    'invalid_request',
    `${name} cannot be echoed; it must have 1 to ${maxEchoLength} printable ASCII characters.`,
  )
}
