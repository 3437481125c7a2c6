// The replies to verification requests with which services check a hook: Slack's, Zoom's and Meta's.
import { createMatcher } from '../../http/auth.ts'
import { jsonReply, plainText, type ServiceReply, type Verifier } from './verifier.ts'

type Payload = Readonly<Record<string, unknown>>

/** Returns the reply when a signed payload is a handshake. `sign` signs with the secret of the request. */
export type Handshake = (payload: Payload, sign: (text: string) => string) => ServiceReply | undefined

export const answerSlack: Handshake = ({ type, challenge }) =>
  type === 'url_verification' && typeof challenge === 'string' ? plainText(challenge) : undefined

export const answerZoom: Handshake = ({ event, payload }, sign) => {
  const plainToken = (payload as { plainToken?: unknown } | null | undefined)?.plainToken
  if (event !== 'endpoint.url_validation' || typeof plainToken !== 'string') return undefined
  return jsonReply({ plainToken, encryptedToken: sign(plainToken) })
}

/** Meta sends the agreed token with a challenge, and expects the challenge back. */
export function createMetaChallenge(verifyToken: string): NonNullable<Verifier['answerChallenge']> {
  const matches = createMatcher(verifyToken)
  return (query) => {
    const challenge = query.get('hub.challenge')
    const isValid = query.get('hub.mode') === 'subscribe' && matches(query.get('hub.verify_token') ?? '')
    return isValid && challenge !== null ? plainText(challenge) : undefined
  }
}
