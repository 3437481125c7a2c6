// Verifies that a webhook comes from its sender: one verifier for all schemes, over the bytes as received.
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { coversUrl, type FullSignature, type Schemes, settingsOfScheme, signaturesOf } from '../../config/schemes.ts'
import { fieldsOfJson } from '../../kit/shapes.ts'
import type { Log, Scheme, SignedRequest, Verdict } from '../../plugin/plugin.ts'
import { withEcho } from './echo.ts'
import { createSchemeRunner, type SchemeRunner } from './run-scheme.ts'
import { createSecretRotation, secretsOf } from './secret-rotation.ts'
import { createTokenCheck } from './static-token.ts'
import { compileSignedContent, readTimestamp, signedUrl } from './signed-content.ts'
import { createSigningKey } from './signing-key.ts'
import { rejected, type Verified, type Verifier } from './verifier.ts'

export interface VerifierDeps {
  schemes: Schemes
  /** The URL of the hook, where the configuration has it. */
  hookUrl?: string | undefined
  log: Log
}

/** Everything that the verifiers of one `auth` are made of. */
interface SchemeUse {
  auth: HookAuth
  scheme: Scheme<never>
  settings: never
  hookUrl: string | undefined
  runner: SchemeRunner
}

/** A valid `auth` does not throw. */
export function createVerifier(auth: HookAuth, { schemes, hookUrl, log }: VerifierDeps): Verifier {
  const scheme = schemes.get(auth.scheme)
  if (!scheme) throw new Error(`There is no scheme "${auth.scheme}".`)
  const runner = createSchemeRunner(scheme, log)
  const use: SchemeUse = { auth, scheme, settings: settingsOfScheme(scheme, auth), hookUrl, runner }
  const { verify, hiddenHeaders, ...covers } = createCheck(use)
  const verifier: Verifier = {
    scheme: scheme.name,
    hiddenHeaders: [...new Set([...hiddenHeaders, ...(scheme.hiddenHeaders ?? [])])],
    signsBody: covers.signsBody || (scheme.covers?.includes('body') ?? false),
    verify: withReplies(verify, use),
    answerChallenge: createChallenge(use),
  }
  return auth.handshake ? withEcho(verifier, auth.handshake) : verifier
}

type Verify = (request: SignedRequest) => Verdict | Promise<Verdict>

interface SchemeCheck {
  verify: Verify
  hiddenHeaders: readonly string[]
  signsBody: boolean
}

function createCheck(use: SchemeUse): SchemeCheck {
  const { auth, scheme, settings } = use
  if (scheme.createVerifier) return { verify: createFunctionCheck(use), hiddenHeaders: [], signsBody: false }
  if (scheme.tokens) {
    const tokens = typeof scheme.tokens === 'function' ? scheme.tokens(settings) : scheme.tokens
    const hiddenHeaders = tokens.map(({ header }) => header)
    return { verify: createTokenCheck(auth, tokens), hiddenHeaders, signsBody: false }
  }
  return createSignatureCheck(use)
}

// ── Replies ──────────────────────────────────────────────────────────────────────────────

function withReplies(verify: Verify, { auth, scheme, runner }: SchemeUse): Verifier['verify'] {
  if (!scheme.answerHandshake && !scheme.acknowledge) return verify
  const secrets = secretsOf(auth)
  const addReplies = (verdict: Verdict, request: SignedRequest): Verified => {
    if (!verdict.ok) return verdict
    const payload = fieldsOfJson(request.rawBody.toString('utf8'))
    const secret = verdict.secretIndex === undefined ? undefined : secrets[verdict.secretIndex]?.secret
    return {
      ok: true,
      secretIndex: verdict.secretIndex,
      id: verdict.id,
      handshake: runner.reply(() => scheme.answerHandshake?.(payload, secret ?? '')),
      acknowledgement: scheme.acknowledge && runner.reply(() => scheme.acknowledge?.(payload)),
    }
  }
  return (request) => {
    const verdict = verify(request)
    return verdict instanceof Promise
      ? verdict.then((settled) => addReplies(settled, request))
      : addReplies(verdict, request)
  }
}

/** A scheme that cannot prepare its answer fails with each request, so that the other hooks work. */
function createChallenge({ scheme, settings, runner }: SchemeUse): Verifier['answerChallenge'] {
  try {
    const answer = scheme.createChallenge?.(settings)
    return answer && ((query) => runner.reply(() => answer(query)))
  } catch (error) {
    return () =>
      runner.run(() => {
        throw error
      })
  }
}

// ── Functions ────────────────────────────────────────────────────────────────────────────

type VerifyFunction = ReturnType<NonNullable<Scheme['createVerifier']>>

function createFunctionCheck({ auth, scheme, settings, hookUrl, runner }: SchemeUse): Verify {
  const rotation = createSecretRotation(auth, (secret) => secret)
  let verify: VerifyFunction | undefined
  return async (given) => {
    const entries = rotation.valid(given.now)
    const secrets = entries.map(({ secret }) => secret)
    const verdict = await runner.verify((signal) => {
      verify ??= scheme.createVerifier?.(settings, { hookUrl })
      return (verify as VerifyFunction)({ ...withConfiguredUrl(given, auth), secrets, signal })
    }, secrets.length)
    if (!verdict.ok || verdict.secretIndex === undefined) return verdict
    return { ...verdict, secretIndex: entries[verdict.secretIndex]?.index ?? 0 }
  }
}

// ── Signatures ───────────────────────────────────────────────────────────────────────────

function createSignatureCheck(use: SchemeUse): SchemeCheck {
  const { auth, scheme, settings } = use
  const signatures = signaturesOf(scheme, settings)
  const signsUrl = coversUrl(scheme, signatures)
  const checks = signatures.flatMap((signature) => createSignatureChecks(signature, signatures, use))
  return {
    hiddenHeaders: signatures.map(({ header }) => header),
    signsBody: true,
    verify(given) {
      const request = signsUrl ? withConfiguredUrl(given, auth) : given
      let first: Verdict | undefined
      for (const { header, verify } of checks) {
        const value = request.header(header)
        const verdict = value === undefined ? undefined : verify(value, request)
        if (verdict?.ok) return verdict
        first ??= verdict
      }
      return first ?? rejected('the signature header is missing')
    },
  }
}

const withConfiguredUrl = (request: SignedRequest, { url }: HookAuth): SignedRequest =>
  url === undefined ? request : { ...request, url: () => signedUrl(url, request.url()) }

interface SignatureCheck {
  header: string
  /** `value`: the value of the header. */
  verify(value: string, request: SignedRequest): Verdict
}

const wrongSignature = 'the signature is wrong'
/** Behind a proxy, this is the usual reason. */
const wrongUrlSignature = `${wrongSignature}; it covers the public URL, so check gateway.publicUrl, or auth.url, and the secret of the sender`

/** Returns an empty list when no secret is of the kind that this signature uses. */
function createSignatureChecks(
  signature: FullSignature,
  signatures: readonly FullSignature[],
  { auth, scheme, runner }: SchemeUse,
): SignatureCheck[] {
  const wrong = coversUrl(scheme, [signature]) ? wrongUrlSignature : wrongSignature
  const { prefix, separator, timestamp: rule } = signature
  const rotation = createSecretRotation(auth, (secret) => createSigningKey(secret, signature, signatures))
  const signedContent = compileSignedContent(signature.signed, runner.run)
  const isStale = createStaleCheck(rule, auth.toleranceSeconds)
  const verify = (value: string, request: SignedRequest): Verdict => {
    const fields = fieldsOf(value, separator)
    const candidates = fields
      .filter((field) => field.startsWith(prefix))
      .map((field) => field.slice(prefix.length).trim())
    if (candidates.length === 0) return rejected('the header has no signature of this scheme')
    const timestamp = readTimestamp(rule, fields, request)
    if (rule && timestamp === undefined) return rejected('the timestamp is missing or is not a whole number')
    const content = signedContent(request, timestamp)
    if (content === undefined) return rejected('part of the signed content is missing or belongs to another body')
    const found = rotation.find(request.now, (key) => key.verify(content, candidates))
    if (!found) return rejected(wrong)
    if (isStale(timestamp, request.now)) return rejected('the timestamp is too far from now')
    const id = signature.id === undefined ? undefined : request.header(signature.id)?.trim() || undefined
    return { ok: true, secretIndex: found.index, id }
  }
  return rotation.size === 0 ? [] : [{ header: signature.header, verify }]
}

/** Bounds how many parts of a header are read: each may cost a verification. */
const maxFields = 16

const fieldsOf = (header: string, separator: string | undefined): string[] =>
  (separator === undefined ? [header] : header.split(separator, maxFields)).map((field) => field.trim())

/** Compares whole units, because a sender may round to seconds. */
function createStaleCheck(
  rule: FullSignature['timestamp'],
  toleranceSeconds: number | undefined,
): (timestamp: string | undefined, now: number) => boolean {
  if (!rule) return () => false
  const unitMs = rule.unit === 'ms' ? 1 : 1000
  const tolerance = ((toleranceSeconds ?? rule.toleranceSeconds ?? 300) * 1000) / unitMs
  return (timestamp, now) => Math.abs(Math.floor(now / unitMs) - Number(timestamp)) > tolerance
}
