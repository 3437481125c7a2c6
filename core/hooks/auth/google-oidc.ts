// Verifies the tokens of Google's push services: JWTs that Google signed for the configured audience and account.
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { GatewayError } from '../../errors.ts'
import { bearerToken } from '../../http/auth.ts'
import { rejected, type SignedRequest, type Verdict } from './verifier.ts'

const googleKeys = 'https://www.googleapis.com/oauth2/v3/certs'
const issuers: ReadonlySet<unknown> = new Set(['https://accounts.google.com', 'accounts.google.com'])
/** Allowed difference between Google's clock and ours. */
const clockSkewSeconds = 60

export function createGoogleCheck({
  audience,
  email,
  keysUrl = googleKeys,
}: HookAuth): (request: SignedRequest) => Promise<Verdict> {
  const findKey = createKeySet(keysUrl)
  return async ({ header, now }) => {
    const token = readToken(bearerToken(header))
    if (!token) return rejected('the token is missing or is not a JWT of Google')
    const key = await findKey(token.keyId, now)
    if (!key || !verify('RSA-SHA256', token.signed, key, token.signature))
      return rejected('the token is not signed by Google')
    const { iss, aud, exp, email: account, email_verified: verified } = token.claims
    if (!issuers.has(iss)) return rejected('the token has another issuer')
    if (aud !== audience) return rejected('the token has another audience')
    if (account !== email || verified !== true) return rejected('the token belongs to another account')
    if (typeof exp !== 'number' || now / 1000 > exp + clockSkewSeconds) return rejected('the token has expired')
    return { ok: true }
  }
}

interface Token {
  keyId: string
  claims: Readonly<Record<string, unknown>>
  signed: Buffer
  signature: Buffer
}

function readToken(text: string | undefined): Token | undefined {
  const [head, body, signature, ...rest] = text?.split('.') ?? []
  if (head === undefined || body === undefined || signature === undefined || rest.length > 0) return undefined
  const { alg, kid } = decode(head)
  // The token must not choose the algorithm.
  if (alg !== 'RS256' || typeof kid !== 'string') return undefined
  return {
    keyId: kid,
    claims: decode(body),
    signed: Buffer.from(`${head}.${body}`),
    signature: Buffer.from(signature, 'base64url'),
  }
}

function decode(part: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))) as Record<string, unknown>
  } catch {
    return {}
  }
}

// ── Public keys ────────────────────────────────────────────────────────────────────────────────────

const fetchTimeoutMs = 5000
/** Minimum time between two fetches: a sender may make up key ids. */
const refetchMs = 60_000
const retryMs = 5000

/** Caches the public keys as long as their server allows. Rejects with `keys_unavailable` without fresh keys. */
function createKeySet(url: string): (id: string, now: number) => Promise<KeyObject | undefined> {
  let keys: ReadonlyMap<string, KeyObject> = new Map()
  let freshUntil = 0
  let nextFetchAt = 0
  let loading: Promise<void> | undefined
  let problem: unknown

  async function load(now: number): Promise<void> {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(fetchTimeoutMs), redirect: 'error' })
      keys = keysOf(await response.json())
      freshUntil = now + lifetimeMs(response.headers.get('cache-control') ?? '')
      nextFetchAt = now + refetchMs
    } catch (error) {
      problem = error
      nextFetchAt = now + retryMs
    }
  }

  return async (id, now) => {
    const known = () => (now < freshUntil ? keys.get(id) : undefined)
    if (!known() && now >= nextFetchAt) loading ??= load(now).finally(() => (loading = undefined))
    if (!known()) await loading
    if (now >= freshUntil)
      throw new GatewayError('keys_unavailable', undefined, { cause: problem, retryAfter: retryMs / 1000 })
    return known()
  }
}

/** At least the time between two fetches, at most a day. */
function lifetimeMs(cacheControl: string): number {
  const seconds = Number(/\bmax-age=(\d{1,9})/i.exec(cacheControl)?.[1] ?? 3600)
  return Math.min(Math.max(seconds * 1000, refetchMs), 86_400_000)
}

/** Throws when the response holds no keys. */
function keysOf(response: unknown): ReadonlyMap<string, KeyObject> {
  const list = (response as { keys: Record<string, string>[] }).keys
  const keys = list.flatMap((key) =>
    key['kty'] === 'RSA' && typeof key['kid'] === 'string'
      ? [[key['kid'], createPublicKey({ key, format: 'jwk' })] as const]
      : [],
  )
  if (keys.length === 0) throw new Error('the response holds no keys')
  return new Map(keys)
}
