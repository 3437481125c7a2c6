// Verifies signed tokens (JWTs) with the public keys of the service that issues them.
import type { createRemoteJWKSet, JWTPayload, JWTVerifyGetKey } from 'jose'
import { GatewayError } from '../errors.ts'
import { readBytes } from './read-bytes.ts'

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
  claims: Readonly<JWTPayload>
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
export function createTokenVerifier(
  rules: TokenRules,
): (token: string | undefined, now?: number) => Promise<SignedToken | RefusedToken> {
  const { issuers, audience, clockSkewSeconds } = rules
  let opening: ReturnType<typeof openKeys> | undefined
  return async (token, now = Date.now()) => {
    if (token === undefined) return { problem: 'is missing or has another format' }
    const { jwtVerify, keys } = await (opening ??= openKeys(rules.keysUrl))
    // A token without the id of its key would get the only key that fits.
    const findKey: JWTVerifyGetKey = (header, jws) => (typeof header.kid === 'string' ? keys(header, jws) : noKey())
    try {
      const { payload, protectedHeader } = await jwtVerify(token, findKey, {
        algorithms: ['RS256'],
        issuer: [...issuers],
        audience,
        requiredClaims: ['exp'],
        // jose refuses a token in the second in which it expires.
        clockTolerance: clockSkewSeconds + 1,
        currentDate: new Date(now),
      })
      const key = keys.jwks()?.keys.find(({ kid }) => kid === protectedHeader.kid)
      return { claims: payload, key: { ...key } }
    } catch (error) {
      const problem = problemOf(error, keys.fresh)
      if (problem !== undefined) return { problem }
      throw new GatewayError('keys_unavailable', undefined, { cause: error, retryAfter: retryMs / 1000 })
    }
  }
}

const noKey = (): never => {
  throw Object.assign(new Error('The token names no key.'), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
}

const problems: Readonly<Record<string, string>> = {
  ERR_JWKS_NO_MATCHING_KEY: 'is not signed by its issuer',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'is not signed by its issuer',
  ERR_JWT_EXPIRED: 'has expired',
  ERR_JOSE_ALG_NOT_ALLOWED: 'is missing or has another format',
  ERR_JWS_INVALID: 'is missing or has another format',
  ERR_JWT_INVALID: 'is missing or has another format',
  iss: 'has another issuer',
  aud: 'has another audience',
  exp: 'has expired',
  nbf: 'is not valid yet',
}

/** Undefined: there are no keys. While there are, a key that is not among them and cannot be fetched is not one. */
function problemOf(error: unknown, hasKeys: boolean): string | undefined {
  const { code = '', claim = '' } = error as { code?: string; claim?: string }
  return problems[claim] ?? problems[code] ?? (hasKeys ? 'is not signed by its issuer' : undefined)
}

const retryMs = 5000
const maxKeysBytes = 1_000_000

/** Loads the package when the first token comes: few gateways get one. */
async function openKeys(url: string): Promise<{
  jwtVerify: (typeof import('jose'))['jwtVerify']
  keys: ReturnType<typeof createRemoteJWKSet>
}> {
  const jose = await import('jose')
  const keys = jose.createRemoteJWKSet(new URL(url), {
    cooldownDuration: 60_000,
    cacheMaxAge: 600_000,
    timeoutDuration: 5000,
    [jose.customFetch]: createKeysFetch(),
  })
  return { jwtVerify: jose.jwtVerify, keys }
}

/** Fetches keys, but for some seconds after a failure only repeats the failure: jose would fetch for each token. */
function createKeysFetch(): typeof fetch {
  let failure: { until: number; error: unknown } | undefined
  return async (url, init) => {
    if (failure && Date.now() < failure.until) throw failure.error
    try {
      const text = await readBytes(await fetch(url, init), maxKeysBytes, init?.signal ?? undefined)
      const set = JSON.parse(text.toString('utf8')) as { keys: unknown[] }
      if (set.keys.length === 0) throw new Error('the response holds no keys')
      return Response.json(set)
    } catch (error) {
      failure = { until: Date.now() + retryMs, error }
      throw error
    }
  }
}
