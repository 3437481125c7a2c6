// The check of senders that show a secret instead of signing with it.
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { createMatcher, headerValue, hookToken } from '../../http/auth.ts'
import { createSecretRotation } from './secret-rotation.ts'
import { rejected, type SignedRequest, type Verdict } from './verifier.ts'

/**
 * A service with a header of its own sends its secret nowhere else; for the scheme `token` the header is one more
 * place.
 */
export function createTokenCheck(auth: HookAuth, headerName: string | undefined): (request: SignedRequest) => Verdict {
  const rotation = createSecretRotation(auth, createMatcher)
  return ({ header, now }) => {
    const shown = headerName === undefined ? undefined : header(headerName)
    const given = shown === undefined && auth.scheme === 'token' ? hookToken(header) : headerValue(shown ?? '')
    if (given === undefined) return rejected('the token is missing')
    const found = rotation.find(now, (matches) => matches(given))
    return found ? { ok: true, secretIndex: found.index } : rejected('the token is wrong')
  }
}
