// Verifies senders that show a secret instead of signing with it.
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { createMatcher, headerValue, hookToken } from '../../http/auth.ts'
import { createSecretRotation } from './secret-rotation.ts'
import { rejected, type SignedRequest, type Verdict } from './verifier.ts'

/** A service with its own header sends its secret there only; the scheme `token` also accepts the usual headers. */
export function createTokenCheck(auth: HookAuth, headerName: string | undefined): (request: SignedRequest) => Verdict {
  const rotation = createSecretRotation(auth, createMatcher)
  return ({ header, now }) => {
    const value = headerName === undefined ? undefined : header(headerName)
    const given = value === undefined && auth.scheme === 'token' ? hookToken(header) : headerValue(value ?? '')
    if (given === undefined) return rejected('the token is missing')
    const found = rotation.find(now, (matches) => matches(given))
    return found ? { ok: true, secretIndex: found.index } : rejected('the token is wrong')
  }
}
