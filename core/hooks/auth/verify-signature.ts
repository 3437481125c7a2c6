// Verifies that a webhook comes from its sender: one verifier for all schemes, over the bytes as received.
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { withEcho } from './echo.ts'
import { createGoogleCheck } from './google-oidc.ts'
import { createMetaChallenge } from './handshakes.ts'
import { createSecretRotation } from './secret-rotation.ts'
import { plainSigning, type Signing, signings, tokenHeaders } from './service-signatures.ts'
import { createTokenCheck } from './static-token.ts'
import { compileSignedContent, readTimestamp } from './signed-content.ts'
import { createSigningKey } from './signing-key.ts'
import { rejected, type SignedRequest, type Verdict, type Verifier } from './verifier.ts'

/** `publicUrl`: the URL of the hook, where the configuration has it. A valid `auth` does not throw. */
export function createVerifier(auth: HookAuth, publicUrl?: string): Verifier {
  const verifier = createSchemeVerifier(auth, publicUrl)
  return auth.handshake ? withEcho(verifier, auth.handshake) : verifier
}

function createSchemeVerifier(auth: HookAuth, publicUrl: string | undefined): Verifier {
  const { scheme, verifyToken } = auth
  if (scheme === 'google-oidc')
    return { scheme, hiddenHeaders: [], signsBody: false, verify: createGoogleCheck({ audience: publicUrl, ...auth }) }
  if (scheme in tokenHeaders) return tokenVerifier(auth, auth.header?.toLowerCase() ?? tokenHeaders[scheme])
  const verifier = signatureVerifier(auth, scheme === 'hmac' ? [configuredSigning(auth)] : (signings[scheme] ?? []))
  return verifyToken === undefined ? verifier : { ...verifier, answerChallenge: createMetaChallenge(verifyToken) }
}

function tokenVerifier(auth: HookAuth, header: string | undefined): Verifier {
  const check = createTokenCheck(auth, header)
  return { scheme: auth.scheme, hiddenHeaders: header === undefined ? [] : [header], signsBody: false, verify: check }
}

function signatureVerifier(auth: HookAuth, described: readonly Signing[]): Verifier {
  const { url } = auth
  const checks = described.flatMap((signing) => createCheck(withTolerance(signing, auth.toleranceSeconds), auth))
  return {
    scheme: auth.scheme,
    hiddenHeaders: [...new Set(described.map(({ header }) => header))],
    signsBody: true,
    verify(given) {
      const request = url === undefined ? given : { ...given, url: () => withQueryOf(url, given.url()) }
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

/** The signed URL includes the query of the call: Twilio puts the hash of a JSON body there. */
const withQueryOf = (url: string, called: string): string =>
  called.includes('?') ? url.replace(/\?.*/s, '') + called.slice(called.indexOf('?')) : url

/** The signing that the keys of the scheme `hmac` describe. */
export function configuredSigning({
  header = '',
  algorithm,
  encoding,
  prefix,
  separator,
  signed,
  secretEncoding,
  ...rest
}: HookAuth): Signing {
  const { timestampHeader, timestampPrefix = '', timestampUnit } = rest
  const source = timestampHeader === undefined ? { prefix: timestampPrefix } : { header: timestampHeader.toLowerCase() }
  return {
    header: header.toLowerCase(),
    separator,
    algorithm: algorithm ?? plainSigning.algorithm,
    encoding: encoding ?? plainSigning.encoding,
    prefix: prefix ?? plainSigning.prefix,
    signed: signed ?? plainSigning.signed,
    secretEncoding: secretEncoding ?? plainSigning.secretEncoding,
    ...(signed?.includes('{timestamp}') && {
      timestamp: { source, unitMs: timestampUnit === 'ms' ? 1 : 1000, toleranceSeconds: 300 },
    }),
  }
}

const withTolerance = (signing: Signing, toleranceSeconds: number | undefined): Signing =>
  signing.timestamp && toleranceSeconds !== undefined
    ? { ...signing, timestamp: { ...signing.timestamp, toleranceSeconds } }
    : signing

// ── One signing ──────────────────────────────────────────────────────────────────────────

interface Check {
  header: string
  /** `value`: the value of the header. */
  verify(value: string, request: SignedRequest): Verdict
}

/** Returns an empty list when no secret is of the kind that this signing uses. */
function createCheck(signing: Signing, auth: HookAuth): Check[] {
  const rotation = createSecretRotation(auth, (secret) => createSigningKey(signing, secret))
  const signedContent = compileSignedContent(signing.signed)
  const verify = (value: string, request: SignedRequest): Verdict => {
    const fields = fieldsOf(value, signing.separator)
    const signatures = fields
      .filter((field) => field.startsWith(signing.prefix))
      .map((field) => field.slice(signing.prefix.length))
    if (signatures.length === 0) return rejected('the header has no signature of this scheme')
    const timestamp = readTimestamp(signing.timestamp?.source, fields, request)
    if (signing.timestamp && timestamp === undefined)
      return rejected('the timestamp is missing or is not a whole number')
    const content = signedContent(request, timestamp)
    if (content === undefined) return rejected('part of the signed content is missing or belongs to another body')
    const found = rotation.find(request.now, (key) => key.verify(content, signatures))
    if (!found) return rejected('the signature is wrong')
    if (isStale(signing, timestamp, request.now)) return rejected('the timestamp is too far from now')
    const id = signing.id === undefined ? undefined : request.header(signing.id)?.trim() || undefined
    const payload = signing.handshake || signing.acknowledge ? payloadOf(request) : {}
    return {
      ok: true,
      secretIndex: found.index,
      id,
      handshake: signing.handshake?.(payload, found.key.sign),
      acknowledgement: signing.acknowledge?.(payload),
    }
  }
  return rotation.size === 0 ? [] : [{ header: signing.header, verify }]
}

/** Bounds how many parts of a header are read: each may cost a verification. */
const maxFields = 16

const fieldsOf = (header: string, separator: string | undefined): string[] =>
  (separator === undefined ? [header] : header.split(separator, maxFields)).map((field) => field.trim())

/** Compares whole units, because a sender may round to seconds. */
function isStale({ timestamp: rule }: Signing, timestamp: string | undefined, now: number): boolean {
  if (!rule) return false
  return Math.abs(Math.floor(now / rule.unitMs) - Number(timestamp)) > (rule.toleranceSeconds * 1000) / rule.unitMs
}

function payloadOf({ rawBody }: SignedRequest): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(rawBody.toString('utf8'))) as Record<string, unknown>
  } catch {
    return {}
  }
}
