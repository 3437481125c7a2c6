// Signs a request as its sender would, to try a hook with the configured secret. Public keys cannot sign.
import { randomUUID } from 'node:crypto'
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { type FullSignature, type Schemes, settingsOfScheme, signaturesOf } from '../../config/schemes.ts'
import { InputError, isInputError } from '../../plugin/errors.ts'
import type { OutgoingRequest, Scheme, TokenHeader } from '../../plugin/plugin.ts'
import { firstLineOf } from '../../errors.ts'
import { createSecretRotation } from './secret-rotation.ts'
import { compileSignedContent, signedUrl } from './signed-content.ts'
import { createSigningKey } from './signing-key.ts'

interface SignDeps {
  schemes: Schemes
  /** Milliseconds since 1970. */
  now: number
}

/** @throws {InputError} if the secret or the request cannot be used, or if the scheme fails. */
export function signRequest(auth: HookAuth, request: OutgoingRequest, { schemes, now }: SignDeps): OutgoingRequest {
  const scheme = schemes.get(auth.scheme)
  if (!scheme) throw new InputError(`The scheme ${auth.scheme} is unknown.`)
  try {
    return signAs(scheme, request, { auth, now })
  } catch (error) {
    throw isInputError(error) ? error : new InputError(`The scheme ${scheme.name} failed (${firstLineOf(error)}).`)
  }
}

interface Signing {
  auth: HookAuth
  now: number
}

function signAs(scheme: Scheme<never>, request: OutgoingRequest, { auth, now }: Signing): OutgoingRequest {
  const secrets = createSecretRotation(auth, (secret) => secret)
    .valid(now)
    .map(({ secret }) => secret)
  const [first = ''] = secrets
  if (first === '' && scheme.secret !== false)
    throw new InputError(`The scheme ${scheme.name} needs a secret, and none is configured that is still valid.`)
  const settings = settingsOfScheme(scheme, auth)
  if (scheme.sign) {
    const context = { secret: first, settings, now, signedUrl: (called: string) => signedUrl(auth.url, called) }
    const { headers = {}, ...changes } = scheme.sign(request, context)
    return withHeaders({ ...request, ...changes }, headers)
  }
  const tokens = typeof scheme.tokens === 'function' ? scheme.tokens(settings) : scheme.tokens
  if (tokens) return withHeaders(request, tokenHeader(tokens, first))
  const signatures = signaturesOf(scheme, settings)
  if (signatures.length === 0) throw new InputError(`Only its service can sign for the scheme ${scheme.name}.`)
  for (const secret of secrets) {
    for (const signature of signatures) {
      const sign = createSigningKey(secret, signature, signatures)?.sign
      if (sign) return signBySignature(prepare(signature, { request, now }), { signature, sign, auth, now })
    }
  }
  throw new InputError(`The secret of the scheme ${scheme.name} is a public key, which cannot sign.`)
}

const withHeaders = (request: OutgoingRequest, headers: Readonly<Record<string, string>>): OutgoingRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
})

function tokenHeader([token]: readonly TokenHeader[], secret: string): Record<string, string> {
  if (!token) return {}
  return { [token.header]: token.word === undefined ? secret : `${token.word} ${secret}` }
}

// ── Signatures ───────────────────────────────────────────────────────────────────────────

const timestampOf = ({ timestamp }: FullSignature, now: number): string =>
  String(timestamp?.unit === 'ms' ? now : Math.floor(now / 1000))

/** Adds what is signed besides the body: the time and the id. */
function prepare(
  { timestamp, id, ...rest }: FullSignature,
  { request, now }: { request: OutgoingRequest; now: number },
): OutgoingRequest {
  const time = timestampOf({ timestamp, ...rest }, now)
  const timed =
    timestamp && 'field' in timestamp ? { ...request, body: setField(request.body, timestamp.field, time) } : request
  return withHeaders(timed, {
    ...(timestamp && 'header' in timestamp && { [timestamp.header]: time }),
    ...(id !== undefined && { [id]: request.headers[id] ?? `msg_${randomUUID()}` }),
  })
}

function setField(body: Buffer, field: string, time: string): Buffer {
  const payload: unknown = parse(body)
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload))
    throw new InputError(`The payload must be a JSON object, because its field ${field} is signed.`)
  return Buffer.from(JSON.stringify({ ...payload, [field]: Number(time) }))
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

interface SignBySignature extends Signing {
  signature: FullSignature
  sign(content: Buffer): string
}

function signBySignature(request: OutgoingRequest, { signature, sign, auth, now }: SignBySignature): OutgoingRequest {
  const { header, prefix, separator = ',', signed, timestamp } = signature
  const time = timestampOf(signature, now)
  const url = (): string => signedUrl(auth.url, request.url)
  const readHeader = (name: string): string | undefined => request.headers[name]
  const signedRequest = { header: readHeader, rawBody: request.body, method: 'POST', url, now }
  const content = compileSignedContent(signed, (work) => work())(signedRequest, time)
  if (content === undefined) throw new InputError(`${describeSigned(signed)}; give it with --header.`)
  const inHeader = timestamp && 'prefix' in timestamp ? [timestamp.prefix + time] : []
  return withHeaders(request, { [header]: [...inHeader, prefix + sign(content)].join(separator) })
}

const describeSigned = (signed: FullSignature['signed']): string =>
  `A header is missing that is signed${typeof signed === 'string' ? ` (${signed})` : ''}`
