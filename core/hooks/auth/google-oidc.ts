// Verifies the tokens of Google's push services: JWTs that Google signed for the configured audience and account.
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { bearerToken } from '../../http/auth.ts'
import { createTokenVerifier } from '../../kit/signed-token.ts'
import { rejected, type SignedRequest, type Verdict } from './verifier.ts'

const googleKeys = 'https://www.googleapis.com/oauth2/v3/certs'
const issuers = ['https://accounts.google.com', 'accounts.google.com']

export function createGoogleCheck({
  audience = '',
  email,
  keysUrl = googleKeys,
}: HookAuth): (request: SignedRequest) => Promise<Verdict> {
  const verifyToken = createTokenVerifier({ keysUrl, issuers, audience, clockSkewSeconds: 60 })
  return async ({ header, now }) => {
    const token = await verifyToken(bearerToken(header), now)
    if ('problem' in token) return rejected(`the token ${token.problem}`)
    const { email: account, email_verified: verified } = token.claims
    if (account !== email || verified !== true) return rejected('the token belongs to another account')
    return { ok: true }
  }
}
