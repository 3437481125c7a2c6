// Signs a request as its sender would, to try a hook with the configured secret. Public keys cannot sign.
import { hash, randomUUID } from 'node:crypto'
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { InputError } from '../../plugin/errors.ts'
import { configuredSigning } from './verify-signature.ts'
import { type Signing, signings, tokenHeaders } from './service-signatures.ts'
import { secretsOf } from './secret-rotation.ts'
import { compileSignedContent } from './signed-content.ts'
import { createSigningKey, type SigningKey } from './signing-key.ts'

export interface OutgoingRequest {
  /** The address that is called. */
  url: string
  /** By name in lower case. */
  headers: Readonly<Record<string, string>>
  body: Buffer
}

/** `now`: milliseconds since 1970. @throws {InputError} if the secret or the request cannot be used. */
export function signRequest(auth: HookAuth, request: OutgoingRequest, now: number): OutgoingRequest {
  const { scheme } = auth
  const secrets = secretsOf(auth).filter(({ notAfter }) => notAfter === undefined || now <= Date.parse(notAfter))
  const [first] = secrets
  if (scheme === 'google-oidc') throw new InputError('Only Google can sign for the scheme google-oidc.')
  if (!first) throw new InputError(`The scheme ${scheme} needs a secret, and none is configured that is still valid.`)
  if (scheme in tokenHeaders)
    return withHeaders(request, tokenHeader(auth.header?.toLowerCase() ?? tokenHeaders[scheme], first.secret))
  const described = scheme === 'hmac' ? [configuredSigning(auth)] : (signings[scheme] ?? [])
  for (const { secret } of secrets) {
    for (const signing of described) {
      const key = signing.algorithm === 'ed25519' ? undefined : createSigningKey(signing, secret)
      if (key) return sign(prepare(signing, { auth, request, now }), { signing, key, auth, now })
    }
  }
  throw new InputError(`The secret of the scheme ${scheme} is a public key, which cannot sign.`)
}

const withHeaders = (request: OutgoingRequest, headers: Readonly<Record<string, string>>): OutgoingRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
})

const tokenHeader = (header: string | undefined, secret: string): Record<string, string> =>
  header === undefined ? { authorization: `Bearer ${secret}` } : { [header]: secret }

interface Unsigned {
  auth: HookAuth
  request: OutgoingRequest
  now: number
}

const timestampOf = ({ timestamp }: Signing, now: number): string =>
  String(Math.floor(now / (timestamp?.unitMs ?? 1000)))

/** Adds what is signed besides the body: the time, the id, and what single services put elsewhere. */
function prepare(signing: Signing, { auth, request, now }: Unsigned): OutgoingRequest {
  const { timestamp, id } = signing
  const source = timestamp?.source
  const withTime =
    source && 'field' in source ? { ...request, body: setField(request.body, source.field, now) } : request
  const prepared = withHeaders(withTime, {
    ...(source && 'header' in source && { [source.header]: timestampOf(signing, now) }),
    ...(id !== undefined && { [id]: request.headers[id] ?? `msg_${randomUUID()}` }),
  })
  if (auth.scheme === 'netlify') return withHeaders(prepared, { [signing.header]: `${netlifyToken(prepared.body)}.` })
  const isForm = prepared.headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  return auth.scheme === 'twilio' && !isForm ? { ...prepared, url: withBodyHash(prepared) } : prepared
}

/** Linear signs the time in milliseconds as a field of the body. */
function setField(body: Buffer, field: string, now: number): Buffer {
  const payload: unknown = parse(body)
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload))
    throw new InputError(`The payload must be a JSON object, because its field ${field} is signed.`)
  return Buffer.from(JSON.stringify({ ...payload, [field]: now }))
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

const encodeJson = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const netlifyToken = (body: Buffer): string =>
  [encodeJson({ alg: 'HS256', typ: 'JWT' }), encodeJson({ iss: 'netlify', sha256: hash('sha256', body) })].join('.')

/** Twilio signs the hash of a JSON body in the query. */
function withBodyHash({ url, body }: OutgoingRequest): string {
  const address = new URL(url)
  address.searchParams.set('bodySHA256', hash('sha256', body))
  return address.href
}

interface SignWith extends Pick<Unsigned, 'auth' | 'now'> {
  signing: Signing
  key: SigningKey
}

function sign(request: OutgoingRequest, { signing, key, auth, now }: SignWith): OutgoingRequest {
  const { header, prefix, separator = ',', signed, timestamp } = signing
  const time = timestampOf(signing, now)
  const { body: rawBody } = request
  const url = (): string => signedUrl(request.url, auth.url)
  const readHeader = (name: string): string | undefined => request.headers[name]
  const content = compileSignedContent(signed)({ header: readHeader, rawBody, method: 'POST', url, now }, time)
  if (content === undefined) throw new InputError(`${describeSigned(signed)}; give it with --header.`)
  const signature = prefix + key.sign(content)
  const inHeader = timestamp && 'prefix' in timestamp.source ? [timestamp.source.prefix + time] : []
  const started = auth.scheme === 'netlify' ? request.headers[header] : ''
  return withHeaders(request, { [header]: started + [...inHeader, signature].join(separator) })
}

const describeSigned = (signed: Signing['signed']): string =>
  `A header is missing that is signed${typeof signed === 'string' ? ` (${signed})` : ''}`

/** The verifier compares with the configured address, and takes only the query from the call. */
const signedUrl = (called: string, configured: string | undefined): string =>
  configured === undefined ? called : configured.replace(/\?.*/s, '') + new URL(called).search
