// Checks the key `auth` of a mapping or preset: keys that belong to the scheme, and the format of secrets.
import type { HookAuth, HookScheme } from '../schema/hook-auth.ts'
import type { RuleFinding } from './rule.ts'

/** The problems of an `auth`; keys are relative to it. */
export function* hookAuthRules(auth: HookAuth, publicUrl?: string): Iterable<RuleFinding> {
  yield* unsupportedKeyRules(auth)
  yield* secretRules(auth)
  yield* urlRules(auth, publicUrl)
  if (auth.handshake) yield* handshakeRules(auth.handshake)
  if (auth.scheme === 'hmac') yield* hmacRules(auth)
  if (auth.scheme === 'google-oidc') yield* googleRules(auth, publicUrl)
}

const hmacKeys = [
  'algorithm',
  'encoding',
  'prefix',
  'separator',
  'signed',
  'timestampHeader',
  'timestampPrefix',
  'timestampUnit',
  'secretEncoding',
] as const
const googleKeys = ['audience', 'email', 'keysUrl'] as const
const timestampSchemes: readonly HookScheme[] = [
  'hmac',
  'standard-webhooks',
  'svix',
  'stripe',
  'slack',
  'linear',
  'discord',
  'zoom',
]

/** Keys that only some schemes support. */
const schemesByKey: Partial<Record<keyof HookAuth, readonly HookScheme[]>> = {
  ...Object.fromEntries(hmacKeys.map((key) => [key, ['hmac']])),
  ...Object.fromEntries(googleKeys.map((key) => [key, ['google-oidc']])),
  header: ['token', 'hmac'],
  toleranceSeconds: timestampSchemes,
  url: ['twilio', 'hmac'],
  verifyToken: ['meta'],
}

function* unsupportedKeyRules(auth: HookAuth): Iterable<RuleFinding> {
  for (const key of Object.keys(auth) as (keyof HookAuth)[]) {
    const schemes = schemesByKey[key]
    if (schemes && !schemes.includes(auth.scheme))
      yield {
        keys: [key],
        problem: `is not supported by the scheme "${auth.scheme}"; it belongs to ${schemes.join(', ')}`,
      }
  }
}

function* secretRules(auth: HookAuth): Iterable<RuleFinding> {
  const { scheme, secret, secrets } = auth
  if (scheme === 'google-oidc') {
    if (secret !== undefined || secrets)
      yield {
        keys: [secrets ? 'secrets' : 'secret'],
        problem: 'is not supported, because Google signs with its own keys; remove it',
      }
    return
  }
  if (secret === undefined && !secrets)
    yield { keys: ['secret'], problem: 'is required; copy it from the webhook settings of the service' }
  if (secret !== undefined && secrets)
    yield { keys: ['secrets'], problem: 'cannot be combined with secret; move all secrets into secrets' }
  const given =
    secret === undefined
      ? (secrets ?? []).map((one, index) => ({ one, keys: ['secrets', String(index)] }))
      : [{ one: secret, keys: ['secret'] }]
  for (const { one, keys } of given) {
    const problem = findSecretProblem(auth, typeof one === 'string' ? one : one.secret)
    if (problem !== undefined) yield { keys, problem }
    if (typeof one !== 'string' && Number.isNaN(Date.parse(one.notAfter))) {
      yield { keys: [...keys, 'notAfter'], problem: 'must be a time such as 2030-01-31T00:00:00Z' }
    }
  }
}

/** Decodes a secret as the verifier does, and describes what is wrong. The message never contains the secret. */
function findSecretProblem({ scheme, secretEncoding }: HookAuth, secret: string): string | undefined {
  if (scheme === 'discord')
    return countBytes('hex', secret) === publicKeyBytes
      ? undefined
      : 'must be the public key of the application: 64 hexadecimal digits'
  if (scheme === 'standard-webhooks' || scheme === 'svix') return findStandardSecretProblem(secret)
  if (scheme !== 'hmac' || secretEncoding === undefined || secretEncoding === 'utf8') return undefined
  return countBytes(secretEncoding, secret) > 0
    ? undefined
    : `must be encoded in ${secretEncoding}, as set in secretEncoding`
}

/** Bytes in an Ed25519 public key. */
const publicKeyBytes = 32

function findStandardSecretProblem(secret: string): string | undefined {
  const [, prefix, text = ''] = /^(whsec_|whpk_)?(.*)$/s.exec(secret) ?? []
  const bytes = countBytes('base64', text)
  if (prefix === 'whpk_')
    return bytes === publicKeyBytes
      ? undefined
      : `must be a public key such as whpk_… with ${publicKeyBytes} bytes in base64; it has ${bytes}`
  return bytes > 0 ? undefined : 'must be a secret such as whsec_… or a public key such as whpk_…, in base64'
}

/** The number of bytes that a text encodes; 0 if it is invalid. */
function countBytes(encoding: 'hex' | 'base64', text: string): number {
  const written = encoding === 'hex' ? /^(?:[0-9a-f]{2})+$/i : /^(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2,4}={0,2})$/i
  return written.test(text) ? Buffer.from(text, encoding).length : 0
}

function* hmacRules({ header, signed = '{body}', timestampHeader, timestampPrefix }: HookAuth): Iterable<RuleFinding> {
  if (header === undefined)
    yield { keys: ['header'], problem: 'is required for hmac; set the header with the signature' }
  const known = /\{(?:body|timestamp|method|url|headers\.[^{}]+)\}/g
  if (/[{}]/.test(signed.replaceAll(known, ''))) {
    yield {
      keys: ['signed'],
      problem: 'may contain {body}, {timestamp}, {method}, {url} and {headers.<name>}, but no other braces',
    }
  }
  if (!signed.includes('{body}'))
    yield { keys: ['signed'], problem: 'must contain {body}; otherwise anybody could change the body' }
  const hasTimestamp = signed.includes('{timestamp}')
  const sourceCount = [timestampHeader, timestampPrefix].filter((one) => one !== undefined).length
  if (hasTimestamp && sourceCount === 0)
    yield { keys: ['signed'], problem: 'contains {timestamp}; set timestampHeader or timestampPrefix' }
  if (!hasTimestamp && sourceCount > 0)
    yield { keys: ['signed'], problem: 'must contain {timestamp}; otherwise anybody could change the time' }
  if (sourceCount > 1)
    yield { keys: ['timestampPrefix'], problem: 'cannot be combined with timestampHeader; remove one of them' }
}

function* urlRules({ scheme, url, signed = '{body}' }: HookAuth, publicUrl: string | undefined): Iterable<RuleFinding> {
  const keys = ['url']
  const signsUrl = scheme === 'twilio' || (scheme === 'hmac' && signed.includes('{url}'))
  if (url !== undefined && !/^https?:\/\/[^\s/]/.test(url))
    yield { keys, problem: 'must be a complete URL that starts with https://' }
  if (url !== undefined && scheme === 'hmac' && !signsUrl)
    yield { keys, problem: 'has no effect unless signed contains {url}; remove it' }
  if (!signsUrl || url !== undefined || publicUrl !== undefined) return
  const problem =
    'is not set, and neither is gateway.publicUrl; the signature covers the URL that the sender calls, which ' +
    'the gateway cannot know behind a proxy, so set one of them'
  yield { keys, problem, warning: true }
}

/** Headers that belong to the gateway. */
const ownHeaders = new Set(['x-request-id', 'x-content-type-options', 'x-svc-token'])

function* handshakeRules({ query, header }: NonNullable<HookAuth['handshake']>): Iterable<RuleFinding> {
  if (query === 'token')
    yield { keys: ['handshake', 'query'], problem: 'must not be "token", because a URL with a token is rejected' }
  // A stranger chooses the value, so it must be a header without a meaning for browsers and proxies.
  if (header !== undefined && (!/^x-[\w-]+$/i.test(header) || ownHeaders.has(header.toLowerCase()))) {
    const problem = 'must be a header of the service whose name begins with "x-", such as "x-hook-secret"'
    yield { keys: ['handshake', 'header'], problem }
  }
}

function* googleRules({ audience, email, keysUrl }: HookAuth, publicUrl: string | undefined): Iterable<RuleFinding> {
  if (audience === undefined && publicUrl === undefined) {
    const problem =
      'is required; set the audience of the push subscription, or gateway.publicUrl if the audience is the URL ' +
      'of the hook'
    yield { keys: ['audience'], problem }
  }
  // Any Google account can get a token for this audience. Only the account identifies ours.
  if (email === undefined)
    yield { keys: ['email'], problem: 'is required; set the service account of the push subscription' }
  if (keysUrl !== undefined && !/^https?:\/\//.test(keysUrl))
    yield { keys: ['keysUrl'], problem: 'must be a URL that starts with https://' }
}
