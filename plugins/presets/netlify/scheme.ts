// The scheme of Netlify: a JSON Web Token, signed with the shared secret, whose claims contain the hash of the body.
import { createHmac, hash } from 'node:crypto'
import { fieldsOfJson, textOf } from 'svc-gateway/kit'
import { defineScheme, type OutgoingRequest, type SignContext, type SignedRequest } from 'svc-gateway/plugin'

const header = 'x-webhook-signature'

export const scheme = defineScheme({
  name: 'netlify',
  description: 'Webhooks of Netlify.',
  signatures: [{ header, encoding: 'base64url', separator: '.', signed: signedContent }],
  sign,
})

/**
 * The header and the claims of the token. Undefined if the token is malformed, has another issuer, or belongs to another
 * body.
 */
function signedContent({ header: read, rawBody }: SignedRequest): string | undefined {
  const parts = (read(header) ?? '').trim().split('.')
  const claims = fieldsOfJson(Buffer.from(parts[1] ?? '', 'base64url').toString())
  const isOurs =
    parts.length === 3 &&
    claims['iss'] === 'netlify' &&
    textOf(claims['sha256'])?.toLowerCase() === hash('sha256', rawBody, 'hex')
  return isOurs ? `${parts[0]}.${parts[1]}` : undefined
}

function sign({ body }: OutgoingRequest, { secret }: SignContext) {
  const parts = [
    { alg: 'HS256', typ: 'JWT' },
    { iss: 'netlify', sha256: hash('sha256', body) },
  ]
  const content = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return { headers: { [header]: `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}` } }
}
