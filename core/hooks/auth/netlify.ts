// The signed content of Netlify: the header and the claims of a JSON Web Token, which contain the hash of the body.
import { hash } from 'node:crypto'
import type { SignedRequest } from './verifier.ts'

/** Returns undefined when the token is malformed, has another issuer, or belongs to another body. */
export function netlifyText({ header, rawBody }: Pick<SignedRequest, 'header' | 'rawBody'>): string | undefined {
  const parts = (header('x-webhook-signature') ?? '').trim().split('.')
  const claims = claimsOf(parts[1] ?? '')
  const isOurs =
    parts.length === 3 && claims['iss'] === 'netlify' && claims['sha256'] === hash('sha256', rawBody, 'hex')
  return isOurs ? `${parts[0]}.${parts[1]}` : undefined
}

function claimsOf(encoded: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'))) as Record<string, unknown>
  } catch {
    return {}
  }
}
