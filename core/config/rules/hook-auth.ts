// Checks the key `auth` of a mapping or preset: the scheme is known, the keys belong to it, and the secrets fit.
import { describeError } from '../../errors.ts'
import type { Scheme } from '../../plugin/plugin.ts'
import { listProblems } from '../../typebox.ts'
import { hookUrlOf } from '../hooks-path.ts'
import { suggest } from '../nearest.ts'
import { timeSentence } from '../schema/formats.ts'
import { commonAuthKeys, headerSentence, type HookAuth } from '../schema/hook-auth.ts'
import {
  coversUrl,
  type FullSignature,
  keysOfScheme,
  keyTextOf,
  type Schemes,
  settingsOfScheme,
  signaturesOf,
  signedTextProblem,
} from '../schemes.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

interface AuthContext {
  schemes: Schemes
  /** The URL of the hook, where the configuration tells it. */
  hookUrl?: string | undefined
  /** The `auth` of a preset, to which the operator adds the secret and other settings. */
  isDeclaration?: boolean
}

/** @param path the name of the hook */
export const authContextOf = (path: string, { config, extensions }: RuleContext): AuthContext => ({
  schemes: extensions.schemes,
  hookUrl: hookUrlOf(config, path),
})

/** The problems of an `auth`; keys are relative to it. */
export function* hookAuthRules(auth: HookAuth, context: AuthContext): Iterable<RuleFinding> {
  const { schemes } = context
  const scheme = schemes.get(auth.scheme)
  if (!scheme) {
    const names = [...schemes.keys()]
    const problem = `is not a known scheme; ${suggest(auth.scheme, names, `known schemes: ${names.join(', ')}`)}`
    yield { keys: ['scheme'], problem }
    return
  }
  if (auth.handshake) yield* handshakeRules(auth.handshake)
  yield* foreignKeyRules(auth, { scheme, schemes })
  yield* schemeRules(auth, scheme, context)
}

/** Keys that only other schemes have. */
function* foreignKeyRules(
  auth: HookAuth,
  { scheme, schemes }: { scheme: Scheme<never>; schemes: Schemes },
): Iterable<RuleFinding> {
  const own = keysOfScheme(scheme)
  for (const key of Object.keys(auth).filter((one) => !isCommon(one) && !own.includes(one))) {
    const owners = [...schemes.values()].filter((one) => keysOfScheme(one).includes(key)).map(({ name }) => name)
    const known = [...own, ...commonAuthKeys]
    const fix = owners.length > 0 ? `it belongs to ${owners.join(', ')}` : suggest(key, known, 'remove it')
    yield unsupported(key, scheme, `; ${fix}`)
  }
}

const isCommon = (key: string): boolean => commonAuthKeys.includes(key)

const unsupported = (key: string, { name }: Scheme<never>, more: string): RuleFinding => ({
  keys: [key],
  problem: `is not supported by the scheme "${name}"${more}`,
})

/** What depends on the declaration of the scheme, whose functions may be faulty. */
function* schemeRules(
  auth: HookAuth,
  scheme: Scheme<never>,
  { hookUrl, isDeclaration = false }: AuthContext,
): Iterable<RuleFinding> {
  const settings = settingsOfScheme(scheme, auth)
  const isLeftOut = (key: string): boolean => isDeclaration && !Object.hasOwn(auth, key)
  const problems = listProblems(scheme.config ?? {}, settings).filter(({ keys: [key = ''] }) => !isCommon(key))
  yield* problems
  if (problems.length > 0) return
  try {
    const signatures = signaturesOf(scheme, settings)
    if (!isDeclaration) yield* secretRules(auth, scheme, signatures)
    yield* signatureRules(auth, scheme, signatures)
    if (coversUrl(scheme, signatures) && !isLeftOut('url')) yield* urlRules(auth, hookUrl)
    if (typeof scheme.tokens === 'function') scheme.tokens(settings)
    const found: Iterable<Record<'key' | 'problem', unknown>> = scheme.findProblems?.(settings, { hookUrl }) ?? []
    for (const { key, problem } of found)
      if (!isLeftOut(String(key))) yield { keys: [String(key)], problem: String(problem) }
  } catch (error) {
    const { reason, at } = describeError(error)
    const problem = `is a scheme that fails with these settings (${[reason, at].filter(Boolean).join(' ')})`
    yield { keys: ['scheme'], problem }
  }
}

function* signatureRules(
  { toleranceSeconds, url }: HookAuth,
  scheme: Scheme<never>,
  signatures: readonly FullSignature[],
): Iterable<RuleFinding> {
  // Only the settings of a configurable scheme decide what is signed, and it checks their relation itself.
  if (typeof scheme.signatures === 'function') {
    const [problem] = signatures.flatMap(({ signed }) =>
      typeof signed === 'string' ? (signedTextProblem(signed) ?? []) : [],
    )
    const key = keysOfScheme(scheme).includes('signed') ? 'signed' : 'scheme'
    if (problem !== undefined)
      yield { keys: [key], problem: key === 'signed' ? problem : `signs a text that ${problem}` }
    return
  }
  if (toleranceSeconds !== undefined && !signatures.some(({ timestamp }) => timestamp))
    yield unsupported('toleranceSeconds', scheme, ', which has no timestamp; remove it')
  if (url !== undefined && !coversUrl(scheme, signatures))
    yield unsupported('url', scheme, ', whose signature does not cover it; remove it')
}

// ── Secrets ────────────────────────────────────────────────────────────────────────────────────────

function* secretRules(
  { secret, secrets }: HookAuth,
  scheme: Scheme<never>,
  signatures: readonly FullSignature[],
): Iterable<RuleFinding> {
  if (scheme.secret === false) {
    if (secret !== undefined || secrets)
      yield {
        keys: [secrets ? 'secrets' : 'secret'],
        problem: 'is not supported, because the sender signs with its own keys; remove it',
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
    const problem = findSecretProblem(typeof one === 'string' ? one : one.secret, scheme, signatures)
    if (problem !== undefined) yield { keys, problem }
    if (typeof one !== 'string' && Number.isNaN(Date.parse(one.notAfter))) {
      yield { keys: [...keys, 'notAfter'], problem: timeSentence }
    }
  }
}

/** Bytes in an Ed25519 public key. */
const publicKeyBytes = 32

/** Decodes a secret as the verifier does, and describes what is wrong. The message never contains the secret. */
function findSecretProblem(
  secret: string,
  { secret: words }: Scheme<never>,
  signatures: readonly FullSignature[],
): string | undefined {
  const keys = signatures.flatMap((signature) => {
    const text = keyTextOf(secret, signature, signatures)
    return text === undefined ? [] : [{ signature, bytes: countBytes(signature.secretEncoding, text) }]
  })
  const isUsable = keys.some(({ signature, bytes }) => (isPublic(signature) ? bytes === publicKeyBytes : bytes > 0))
  if (signatures.length === 0 || isUsable) return undefined
  if (words) return `must be ${words}`
  const [first] = keys
  if (first && keys.every(({ signature }) => isPublic(signature)))
    return (
      `must be ${describeKey(first.signature)} with ${publicKeyBytes} bytes in ${first.signature.secretEncoding}; ` +
      `it has ${first.bytes}`
    )
  const kinds = [...new Set(signatures.map(describeKey))].toSorted((a, b) => b.localeCompare(a))
  return signatures.some(({ secretPrefix }) => secretPrefix)
    ? `must be ${kinds.join(' or ')}, in ${signatures[0]?.secretEncoding}`
    : `must be encoded in ${signatures[0]?.secretEncoding}`
}

const isPublic = ({ algorithm }: FullSignature): boolean => algorithm === 'ed25519'

const describeKey = (signature: FullSignature): string =>
  `a ${isPublic(signature) ? 'public key' : 'secret'}${signature.secretPrefix ? ` such as ${signature.secretPrefix}…` : ''}`

/** The number of bytes that a text encodes; 0 if it is invalid. */
function countBytes(encoding: FullSignature['secretEncoding'], text: string): number {
  if (encoding === 'utf8') return Buffer.byteLength(text)
  const written = encoding === 'hex' ? /^(?:[0-9a-f]{2})+$/i : /^(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2,4}={0,2})$/i
  return written.test(text) ? Buffer.from(text, encoding).length : 0
}

// ── The URL and verification requests ──────────────────────────────────────────────────────────────

function* urlRules({ url }: HookAuth, hookUrl: string | undefined): Iterable<RuleFinding> {
  const keys = ['url']
  if (url !== undefined || hookUrl !== undefined) return
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
  if (header !== undefined && ownHeaders.has(header.toLowerCase()))
    yield { keys: ['handshake', 'header'], problem: headerSentence }
}
