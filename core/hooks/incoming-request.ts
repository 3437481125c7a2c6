// What the route group keeps of a request: who sent it, its harmless headers, its body, its idempotency key.
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { headerReader } from '../http/auth.ts'
import { TransformError } from '../sandbox/transform-error.ts'
import type { NewRefusal, Authentication } from '../store/store.ts'
import type { IncomingRequest } from './dispatch.ts'
import { isSecretHeader, isSecretParameter, redactQuery, redacted } from './secret-headers.ts'

const longestKey = 256

/** What is known of a request once it has proven that it may ask. */
export interface AuthContext {
  /** `wake`, `agent`, or the name of a mapped hook. */
  hook: string
  /** Further headers, in lower case, that hold a secret or a signature. */
  hidden?: readonly string[] | undefined
  /** Absent: the hook token. */
  authentication?: Authentication | undefined
  /** False: the body is used and not kept. */
  keepBody: boolean
}

export interface Kept extends AuthContext {
  /**
   * The id of the request where the signature covers it: a header that anybody could change does not take precedence
   * over it.
   */
  signedId?: string | undefined
  /** The id that the mapping or preset found in the request. */
  providerId?: string | undefined
  /** The source that its mapping is for: two services that share a name may use the same ids. */
  source?: string | undefined
}

export function readIncomingRequest(request: FastifyRequest, kept: Kept): IncomingRequest {
  const { client, headers, query, authentication } = senderOf(request, kept)
  return {
    hook: kept.hook,
    client,
    headers,
    query,
    authentication,
    rawBody: request.text,
    keepBody: kept.keepBody,
    idempotency: idempotencyOf(request, kept),
  }
}

/** What is kept of a request of which nothing was to be made. */
export const skippedOf = (request: FastifyRequest, authContext: AuthContext): Omit<NewRefusal, 'id' | 'hook'> => ({
  ...senderOf(request, authContext),
  body: authContext.keepBody ? request.text : null,
  status: 'skipped',
})

/** What is kept of a request that was refused: as much of it as was read. */
export function refusalOf(
  request: FastifyRequest,
  error: GatewayError,
  authContext: AuthContext,
): Omit<NewRefusal, 'id' | 'hook'> {
  return {
    ...senderOf(request, authContext),
    body: keptBytes(request, authContext)?.toString('utf8') ?? null,
    status: error.status < 500 ? 'rejected' : 'failed',
    error: { type: error.code, message: recordedMessage(error) },
  }
}

/**
 * What is kept of a request that only asks whether somebody is there: the tokens in its body are for nobody to read.
 */
export function handshakeOf(request: FastifyRequest, authContext: AuthContext): Omit<NewRefusal, 'id' | 'hook'> {
  const bytes = keptBytes(request, authContext)
  return {
    ...senderOf(request, authContext),
    body: bytes && withoutSecrets(bytes.toString('utf8')),
    status: 'skipped',
    reason: 'handshake',
  }
}

/** Null where they were not read, too. */
const keptBytes = ({ rawBody }: FastifyRequest, { keepBody }: AuthContext): Buffer | null => (keepBody ? rawBody : null)

const senderOf = (
  request: FastifyRequest,
  { hidden = [], authentication }: Pick<AuthContext, 'hidden' | 'authentication'>,
) => ({
  client: request.client.address,
  headers: harmless(request.headers, hidden),
  query: queryOf(request),
  authentication,
})

/** Whoever reads the record may read what a transform threw; its sender and the log may not. */
function recordedMessage(error: GatewayError): string {
  if (!(error instanceof TransformError)) return error.publicMessage
  return [error.message, error.detail].filter((part) => part !== undefined).join(' ')
}

const withoutSecrets = (body: string): string =>
  JSON.stringify(JSON.parse(body), (name, value: unknown) => (isSecretParameter(name) ? redacted : value))

/**
 * An id that the provider assigned identifies the request by itself, since its retries carry fresh times and counters;
 * a key that a caller chose is compared with the body. The two have scopes of their own, so that nobody can use up the
 * id of a request that is still to come.
 */
function idempotencyOf(
  request: FastifyRequest,
  { hook, signedId, providerId, source }: Kept,
): IncomingRequest['idempotency'] {
  const key = signedId === undefined && request.headers['idempotency-key'] !== undefined ? readKey(request) : undefined
  // Some providers send their id in this very header.
  if (key !== undefined && key !== providerId)
    return { scope: `hook:${hook}`, key, bodyHash: hash('sha256', request.rawBody, 'base64') }
  const id = signedId ?? providerId
  if (id === undefined) return undefined
  checkProviderId(id)
  return { scope: source === undefined ? `provider:${hook}` : `provider:${hook}?${source}`, key: id, bodyHash: '' }
}

export function checkProviderId(id: string): void {
  if (id.length <= longestKey) return
  throw new GatewayError(
    'invalid_request',
    `The id of the request is longer than ${longestKey} characters; what names it must be shorter.`,
  )
}

function readKey(request: FastifyRequest): string {
  const key = headerReader(request)('idempotency-key') ?? ''
  if (!key.trim())
    throw new GatewayError('invalid_request', 'Idempotency-Key is blank; send a key, or leave the header out.')
  if (key.length > longestKey)
    throw new GatewayError(
      'invalid_request',
      `Idempotency-Key is longer than ${longestKey} characters; send a shorter one.`,
    )
  return key
}

/** Most requests have none, and pay for none. */
const queryOf = ({ url, query }: FastifyRequest): string | undefined =>
  url.includes('?') ? redactQuery(query) : undefined

/** Credentials and signatures are never kept. */
function harmless(headers: FastifyRequest['headers'], hidden: readonly string[]): string {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) kept[name] = isSecretHeader(name) || hidden.includes(name) ? redacted : String(value)
  }
  return JSON.stringify(kept)
}
