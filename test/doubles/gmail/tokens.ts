// The part of the double of Google that issues tokens: consent in the browser, access tokens, signed tokens of pushes.
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import type { Reply, Routes } from './routes.ts'

export const refreshToken = 'refresh-token-of-the-tests'
export const pushEmail = 'gmail-push@p.iam.gserviceaccount.com'
const scopes = ['https://www.googleapis.com/auth/gmail.readonly', 'https://www.googleapis.com/auth/pubsub']

/** How a push token differs from a good one. */
export interface Forgery {
  claims?: object
  /** `none`: not signed at all. `HS256`: signed with the public key as a secret. */
  alg?: 'RS256' | 'none' | 'HS256'
  /** Signed with a key that is not Google's. */
  hasWrongKey?: boolean
  keyId?: string
}

/** Generated once for all doubles of a process, because this is slow. */
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
const wrongKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })

export function createTokens() {
  let valid: string[] = []
  let issued = 0

  const issue = (more: object = {}): Reply => {
    valid.push(`access-${++issued}`)
    return { body: { access_token: `access-${issued}`, expires_in: 3599, token_type: 'Bearer', ...more } }
  }
  const refuse = (error: string): Reply => ({ status: 400, body: { error, error_description: 'Refused.' } })

  const tokens = {
    /** Whether the refresh token was revoked. */
    isRevoked: false,
    /** Whether the person refuses access in the browser. */
    isDenied: false,
    /** The scopes that the person has ticked. */
    granted: scopes,
    /** The claims of the service account that were exchanged for access tokens. */
    assertions: [] as unknown[],
    /** Makes Google refuse all access tokens so far. */
    endAll: () => void (valid = []),
    isValid: (header: string | undefined) => valid.includes(header?.replace('Bearer ', '') ?? ''),
    hasScope: (path: string) =>
      tokens.granted.some((scope) => scope.endsWith(path.startsWith('/gmail/') ? 'gmail.readonly' : 'pubsub')),
    /** The public keys as the library of Google takes them: PEM by key id. */
    certificates: { g1: keys.publicKey.export({ type: 'spki', format: 'pem' }).toString() },
    sign(audience: string, { claims = {}, alg = 'RS256', hasWrongKey = false, keyId = 'g1' }: Forgery): string {
      const now = Math.floor(Date.now() / 1000)
      const payload = { iss: 'https://accounts.google.com', aud: audience, email: pushEmail, email_verified: true }
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const times = { iat: now, exp: now + 3600 }
      const header = { alg, kid: keyId, typ: 'JWT' }
      const signed = `${part(header)}.${part({ ...payload, ...times, ...claims })}`
      const { privateKey } = hasWrongKey ? wrongKeys : keys
      const signatures = {
        none: () => '',
        HS256: () => createHmac('sha256', tokens.certificates.g1).update(signed).digest('base64url'),
        RS256: () => sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url'),
      }
      return `${signed}.${signatures[alg]()}`
    },
  }

  const routes: Routes = {
    'POST /token': ({ body }) => {
      const form = new URLSearchParams(body)
      const scope = { scope: tokens.granted.join(' ') }
      if (form.get('grant_type') === 'authorization_code') {
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url')
        return form.get('code') === `code-${challenge}`
          ? issue({ ...scope, refresh_token: refreshToken })
          : refuse('invalid_grant')
      }
      const assertion = form.get('assertion')
      if (assertion !== null) tokens.assertions.push(claimsOf(assertion))
      const isKnown = form.get('refresh_token') === refreshToken || assertion !== null
      return tokens.isRevoked || !isKnown ? refuse('invalid_grant') : issue(scope)
    },
    'GET /authorize': ({ query }) => {
      const back = new URL(query.get('redirect_uri') ?? '')
      back.searchParams.set('state', query.get('state') ?? '')
      if (tokens.isDenied) back.searchParams.set('error', 'access_denied')
      else back.searchParams.set('code', `code-${query.get('code_challenge')}`)
      return { status: 302, headers: { location: back.href } }
    },
    'GET /certs': () => ({ body: { keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'g1' }] } }),
  }
  return { tokens, routes }
}

const claimsOf = (token: string): unknown =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
