// The scheme of Meta's webhooks, with the GET by which Meta checks the address.
import { createMatcher } from 'svc-gateway/kit'
import { defineScheme, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object({
  verifyToken: Type.Optional(
    Type.String({ pattern: String.raw`\S`, secret: true, description: 'the token of the verification request.' }),
  ),
})

export default defineScheme<Static<typeof Config>>({
  name: 'meta',
  description: 'Webhooks of Facebook, Instagram and WhatsApp.',
  config: Config,
  signatures: [{ header: 'x-hub-signature-256', prefix: 'sha256=' }],
  createChallenge,
})

/** Meta sends the agreed token with a challenge, and expects the challenge back. */
function createChallenge({ verifyToken }: Static<typeof Config>) {
  if (verifyToken === undefined) return undefined
  const matches = createMatcher(verifyToken)
  return (query: URLSearchParams): string | undefined => {
    const isValid = query.get('hub.mode') === 'subscribe' && matches(query.get('hub.verify_token') ?? '')
    return isValid ? (query.get('hub.challenge') ?? undefined) : undefined
  }
}
