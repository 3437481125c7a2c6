// Reads the credentials of a Google account, and gets access tokens with them.
import { createSign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { AuthError, entryOf } from 'svc-gateway/plugin'
import type { Watch } from './settings.ts'

/** The two formats that Google's own tools write. */
export type Credentials =
  | { type: 'authorized_user'; client_id: string; client_secret: string; refresh_token: string }
  | { type: 'service_account'; client_email: string; private_key: string }

export type Service = 'gmail' | 'pubsub'

export const scopes: Readonly<Record<Service, string>> = {
  gmail: 'https://www.googleapis.com/auth/gmail.readonly',
  pubsub: 'https://www.googleapis.com/auth/pubsub',
}

/** Returns a valid access token. `renew` asks for another one, after one was refused. */
export type GetToken = (service: Service, options?: { renew?: boolean }) => Promise<string>

const setupHint = 'run "svc-gateway gmail setup"'

export async function readCredentials(file: string): Promise<Credentials> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new AuthError(`The file hooks.gmail.watch.credentials cannot be read; ${setupHint}.`, { cause })
  })
  const credentials = parseJson(text) as Partial<Record<string, unknown>> | undefined
  const keys = entryOf(requiredKeys, String(credentials?.['type']))
  const missing = keys ? keys.find((key) => typeof credentials?.[key] !== 'string') : 'type'
  if (missing !== undefined)
    throw new AuthError(`The file hooks.gmail.watch.credentials has no valid "${missing}"; ${setupHint}.`)
  return credentials as Credentials
}

const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  authorized_user: ['client_id', 'client_secret', 'refresh_token'],
  service_account: ['client_email', 'private_key'],
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface TokenReply {
  access_token?: string
  expires_in?: number
  error?: unknown
}

/** A token is renewed this long before it expires. */
const reserveMs = 60_000
const timeoutMs = 30_000

export function createTokens(
  credentials: Credentials,
  { account, urls, signal }: Pick<Watch, 'account' | 'urls'> & { signal: AbortSignal },
): GetToken {
  const tokens = new Map<Service, { text: string; until: number }>()
  return async (service, { renew = false } = {}) => {
    const known = tokens.get(service)
    if (known && !renew && Date.now() < known.until) return known.text
    const response = await fetch(urls.token, {
      method: 'POST',
      body: new URLSearchParams(grantOf(credentials, { service, account, tokenUrl: urls.token })),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    const reply = parseJson(await response.text()) as TokenReply | undefined
    if (!response.ok) throw tokenError(response.status, { error: String(reply?.error), account })
    const { access_token: text, expires_in: seconds = 0 } = reply ?? {}
    if (typeof text !== 'string') throw new Error('Google answered without an access token.')
    tokens.set(service, { text, until: Date.now() + seconds * 1000 - reserveMs })
    return text
  }
}

/** 4xx: Google knows the credentials and refuses them, except for 429. */
function tokenError(status: number, { error, account }: { error: string; account: string }): Error {
  if (status >= 500 || status === 429) return new Error(`Google issues no access token at the moment (${status}).`)
  const code = /^[a-z_]{1,40}$/.test(error) ? error : String(status)
  return new AuthError(`Google refuses the credentials of ${account} (${code}); to authorise again, ${setupHint}.`)
}

interface GrantOptions {
  service: Service
  account: string
  tokenUrl: string
}

const grantOf = (credentials: Credentials, options: GrantOptions): Record<string, string> =>
  credentials.type === 'authorized_user'
    ? {
        grant_type: 'refresh_token',
        client_id: credentials.client_id,
        client_secret: credentials.client_secret,
        refresh_token: credentials.refresh_token,
      }
    : { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: assertionOf(credentials, options) }

/** A service account reads the mailbox as its owner (domain-wide delegation), and the subscription as itself. */
function assertionOf(
  { client_email: email, private_key: key }: Extract<Credentials, { type: 'service_account' }>,
  { service, account, tokenUrl }: GrantOptions,
): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: email, scope: scopes[service], aud: tokenUrl, iat: now, exp: now + 3600 }
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const subject = service === 'gmail' ? { sub: account } : {}
  const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ ...claims, ...subject })}`
  try {
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(key, 'base64url')}`
  } catch (cause) {
    throw new AuthError(`The "private_key" in hooks.gmail.watch.credentials is not a valid key; ${setupHint}.`, {
      cause,
    })
  }
}
