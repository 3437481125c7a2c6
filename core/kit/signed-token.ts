// Verifies signed tokens (JWTs) with the public keys of the service that issues them.
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { GatewayError } from '../errors.ts'

/** What a token must be like. */
export interface TokenRules {
  /** Where the public keys are, as a JSON Web Key Set. */
  keysUrl: string
  issuers: readonly string[]
  audience: string
  /** Allowed difference between the clock of the service and ours. */
  clockSkewSeconds: number
}

/** A token that was signed with one of the keys, was issued for us, and is valid now. */
export interface SignedToken {
  claims: Readonly<Record<string, unknown>>
  /** The public key as the service describes it. */
  key: Readonly<Record<string, unknown>>
}

/** Why a token is refused: the rest of a sentence that begins with "the token". */
export interface RefusedToken {
  problem: string
}

/**
 * Returns a function that verifies a token. However many tokens there are, valid or not, the keys are fetched at most
 * once a minute. It rejects if there are no keys and they cannot be fetched at the moment.
 */
export function createTokenVerifier({
  keysUrl,
  issuers,
  audience,
  clockSkewSeconds,
}: TokenRules): (token: string | undefined, now?: number) => Promise<SignedToken | RefusedToken> {
  const findKey = createKeySet(keysUrl)
  return async (text, now = Date.now()) => {
    const token = readToken(text)
    if (!token) return { problem: 'is missing or has another format' }
    const key = await findKey(token.keyId, now)
    if (!key || !verify('RSA-SHA256', token.signed, key.object, token.signature))
      return { problem: 'is not signed by its issuer' }
    const { iss, aud, exp, nbf } = token.claims
    if (!issuers.includes(String(iss))) return { problem: 'has another issuer' }
    if (aud !== audience) return { problem: 'has another audience' }
    const seconds = now / 1000
    if (typeof exp !== 'number' || seconds > exp + clockSkewSeconds) return { problem: 'has expired' }
    if (typeof nbf === 'number' && seconds < nbf - clockSkewSeconds) return { problem: 'is not valid yet' }
    return { claims: token.claims, key: key.description }
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

interface PublicKey {
  object: KeyObject
  description: Readonly<Record<string, unknown>>
}

const fetchTimeoutMs = 5000
/** Minimum time between two fetches: a sender may make up key ids. */
const refetchMs = 60_000
const retryMs = 5000

/** Caches the public keys as long as their server allows. Rejects with `keys_unavailable` without fresh keys. */
function createKeySet(url: string): (id: string, now: number) => Promise<PublicKey | undefined> {
  let keys: ReadonlyMap<string, PublicKey> = new Map()
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
function keysOf(response: unknown): ReadonlyMap<string, PublicKey> {
  const list = (response as { keys: Record<string, string>[] }).keys
  const keys = list.flatMap((key) =>
    key['kty'] === 'RSA' && typeof key['kid'] === 'string'
      ? [[key['kid'], { object: createPublicKey({ key, format: 'jwk' }), description: key }] as const]
      : [],
  )
  if (keys.length === 0) throw new Error('the response holds no keys')
  return new Map(keys)
}
