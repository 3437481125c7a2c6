// The rules of the key `auth` of a mapping or preset: what belongs to which scheme, and what a secret looks like.
import type { HookAuth, HookScheme } from '../schema/hook-auth.ts'
import type { RuleFinding } from './rule.ts'

/** What is wrong with one `auth`; keys are relative to it. */
export function* hookAuthRules(auth: HookAuth, publicUrl?: string): Iterable<RuleFinding> {
  yield* foreignKeys(auth)
  yield* secretRules(auth)
  yield* urlRules(auth, publicUrl)
  if (auth.scheme === 'hmac') yield* hmacRules(auth)
  if (auth.scheme === 'google-oidc') yield* googleRules(auth, publicUrl)
}

const ofHmac = [
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
const ofGoogle = ['audience', 'email', 'keysUrl'] as const
const timed: readonly HookScheme[] = [
  'hmac',
  'standard-webhooks',
  'svix',
  'stripe',
  'slack',
  'linear',
  'discord',
  'zoom',
]

/** Keys that only some schemes know. */
const homes: Partial<Record<keyof HookAuth, readonly HookScheme[]>> = {
  ...Object.fromEntries(ofHmac.map((key) => [key, ['hmac']])),
  ...Object.fromEntries(ofGoogle.map((key) => [key, ['google-oidc']])),
  header: ['token', 'hmac'],
  toleranceSeconds: timed,
  url: ['twilio', 'hmac'],
  verifyToken: ['meta'],
}

function* foreignKeys(auth: HookAuth): Iterable<RuleFinding> {
  for (const key of Object.keys(auth) as (keyof HookAuth)[]) {
    const schemes = homes[key]
    if (schemes && !schemes.includes(auth.scheme))
      yield { keys: [key], problem: `means nothing to the scheme "${auth.scheme}"; it goes with ${schemes.join(', ')}` }
  }
}

function* secretRules(auth: HookAuth): Iterable<RuleFinding> {
  const { scheme, secret, secrets } = auth
  if (scheme === 'google-oidc') {
    if (secret !== undefined || secrets)
      yield {
        keys: [secrets ? 'secrets' : 'secret'],
        problem: 'is not needed: Google signs with keys of its own; take it out',
      }
    return
  }
  if (secret === undefined && !secrets)
    yield { keys: ['secret'], problem: 'is required; copy it from where the sender of the webhook shows it' }
  if (secret !== undefined && secrets)
    yield { keys: ['secrets'], problem: 'stands beside secret; put all of them into secrets' }
  const given =
    secret === undefined
      ? (secrets ?? []).map((one, index) => ({ one, keys: ['secrets', String(index)] }))
      : [{ one: secret, keys: ['secret'] }]
  for (const { one, keys } of given) {
    const problem = misfitOf(auth, typeof one === 'string' ? one : one.secret)
    if (problem !== undefined) yield { keys, problem }
    if (typeof one !== 'string' && Number.isNaN(Date.parse(one.notAfter))) {
      yield { keys: [...keys, 'notAfter'], problem: 'must be a time such as 2030-01-31T00:00:00Z' }
    }
  }
}

/** What is wrong with a secret, found by decoding it as its verifier will; its value is never repeated. */
function misfitOf({ scheme, secretEncoding }: HookAuth, secret: string): string | undefined {
  if (scheme === 'discord')
    return bytesIn('hex', secret) === keyBytes
      ? undefined
      : 'must be the public key of the application: 64 hexadecimal digits'
  if (scheme === 'standard-webhooks' || scheme === 'svix') return standardMisfit(secret)
  if (scheme !== 'hmac' || secretEncoding === undefined || secretEncoding === 'utf8') return undefined
  return bytesIn(secretEncoding, secret) > 0
    ? undefined
    : `must be written in ${secretEncoding}, as secretEncoding says`
}

/** Bytes in an Ed25519 public key. */
const keyBytes = 32

function standardMisfit(secret: string): string | undefined {
  const [, prefix, text = ''] = /^(whsec_|whpk_)?(.*)$/s.exec(secret) ?? []
  const bytes = bytesIn('base64', text)
  if (prefix === 'whpk_')
    return bytes === keyBytes
      ? undefined
      : `must be a public key such as whpk_… of ${keyBytes} bytes in base64, and has ${bytes}`
  return bytes > 0 ? undefined : 'must be a secret such as whsec_… or a public key such as whpk_…, in base64'
}

/** How many bytes a text stands for; 0: it is not written so. */
function bytesIn(encoding: 'hex' | 'base64', text: string): number {
  const written = encoding === 'hex' ? /^(?:[0-9a-f]{2})+$/i : /^(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2,4}={0,2})$/i
  return written.test(text) ? Buffer.from(text, encoding).length : 0
}

function* hmacRules({ header, signed = '{body}', timestampHeader, timestampPrefix }: HookAuth): Iterable<RuleFinding> {
  if (header === undefined)
    yield { keys: ['header'], problem: 'is required for hmac; name the header that holds the signature' }
  const known = /\{(?:body|timestamp|method|url|headers\.[^{}]+)\}/g
  if (/[{}]/.test(signed.replaceAll(known, ''))) {
    yield {
      keys: ['signed'],
      problem: 'may hold {body}, {timestamp}, {method}, {url} and {headers.<name>}, and no other braces',
    }
  }
  if (!signed.includes('{body}')) yield { keys: ['signed'], problem: 'must hold {body}, or anybody could change it' }
  const stamped = signed.includes('{timestamp}')
  const source = [timestampHeader, timestampPrefix].filter((one) => one !== undefined).length
  if (stamped && source === 0)
    yield { keys: ['signed'], problem: 'holds {timestamp}; say in timestampHeader or timestampPrefix where that is' }
  if (!stamped && source > 0) yield { keys: ['signed'], problem: 'must hold {timestamp}, or anybody could change it' }
  if (source > 1) yield { keys: ['timestampPrefix'], problem: 'stands beside timestampHeader; keep one of the two' }
}

function* urlRules({ scheme, url, signed = '{body}' }: HookAuth, publicUrl: string | undefined): Iterable<RuleFinding> {
  const keys = ['url']
  const signsUrl = scheme === 'twilio' || (scheme === 'hmac' && signed.includes('{url}'))
  if (url !== undefined && !/^https?:\/\/[^\s/]/.test(url))
    yield { keys, problem: 'must be the whole address, beginning with https://' }
  if (url !== undefined && scheme === 'hmac' && !signsUrl)
    yield { keys, problem: 'means nothing unless signed holds {url}; take it out' }
  if (!signsUrl || url !== undefined || publicUrl !== undefined) return
  const problem =
    'is not set, nor is gateway.publicUrl; the signature covers the address that the sender calls, which the gateway cannot know behind TLS, so set one of them'
  yield { keys, problem, warning: true }
}

function* googleRules({ audience, email, keysUrl }: HookAuth, publicUrl: string | undefined): Iterable<RuleFinding> {
  if (audience === undefined && publicUrl === undefined) {
    const problem =
      'is required; set the audience of the push subscription, or gateway.publicUrl where that is the address of the hook'
    yield { keys: ['audience'], problem }
  }
  // Anybody at Google can have a token made for this audience: the account alone tells ours from theirs.
  if (email === undefined)
    yield { keys: ['email'], problem: 'is required; set the service account of the push subscription' }
  if (keysUrl !== undefined && !/^https?:\/\//.test(keysUrl))
    yield { keys: ['keysUrl'], problem: 'must be an address that begins with https://' }
}
