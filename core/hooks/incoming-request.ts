// Reads what is stored of a request: its sender, its headers without secrets, its body and its idempotency key.
import { parseWaitSeconds } from './prefer-wait.ts'
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { headerReader } from '../http/auth.ts'
import { isMultipart } from '../http/multipart.ts'
import { redactQuery } from '../kit/secret-names.ts'
import { TransformError } from '../sandbox/transform-error.ts'
import type { RepeatKey } from '../plugin/plugin.ts'
import type { NewRefusal, Authentication } from '../store/store.ts'
import type { IncomingRequest } from './dispatch.ts'
import { redactBody, redactHeaders } from './redact-request.ts'

export const maxKeyLength = 256

/** An authenticated request. */
export interface AuthContext {
  /** `wake`, `agent`, or the name of a mapped hook. */
  hook: string
  /** More headers, in lower case, that hold a secret or a signature. */
  hiddenHeaders?: readonly string[] | undefined
  /** Absent: the sender showed the hook token. */
  authentication?: Authentication | undefined
  /** Whether the body is stored. */
  keepBody: boolean
}

/** The ids of a request, other than its `Idempotency-Key`. */
interface RequestIds {
  /** The id of the request that the signature covers: it takes precedence over headers, which anybody could change. */
  signedId?: string | RepeatKey | undefined
  /** The id that the mapping or preset found in the request. */
  providerId?: string | RepeatKey | undefined
  /** The mapping whose own `auth` verified the request: the ids of its sender are not those of other senders. */
  verifiedBy?: string | undefined
  /** The `match.source` of the mapping: two services that share a name may use the same ids. */
  source?: string | undefined
}

/** Without `ids`, the request has no idempotency key: it is skipped, so that a repetition needs no detection. */
export function readIncomingRequest(
  request: FastifyRequest,
  authContext: AuthContext,
  ids: RequestIds | undefined,
): IncomingRequest {
  const { hook, keepBody } = authContext
  const { client, headers, query, authentication } = senderOf(request, authContext)
  const idempotency = ids && idempotencyOf(request, hook, ids)
  const { text: rawBody, trace } = request
  const isAwaited = parseWaitSeconds(request.headers.prefer) !== undefined
  return { hook, client, headers, query, authentication, rawBody, keepBody, isAwaited, idempotency, trace }
}

/** The record of a rejected request, with as much of its body as was read. */
export function refusalOf(
  request: FastifyRequest,
  error: GatewayError,
  authContext: AuthContext,
): Omit<NewRefusal, 'id' | 'hook'> {
  return {
    ...senderOf(request, authContext),
    body: storedBody(request, authContext),
    ...failureOf(error),
  }
}

/** The record of a request whose sender is not authenticated: why it was refused, and nothing that the sender wrote. */
export function strangerOf(request: FastifyRequest, error: GatewayError): Omit<NewRefusal, 'id' | 'hook'> {
  const failure = failureOf(error)
  const { authProblem, client } = request
  const reason = authProblem === undefined ? '' : ` Reason: ${authProblem.slice(0, maxProblemLength)}.`
  return {
    client: client.address,
    headers: '{}',
    body: null,
    isUnauthenticated: true,
    ...failure,
    error: { ...failure.error, message: failure.error.message + reason },
  }
}

const maxProblemLength = 300

export const failureOf = (error: GatewayError): Required<Pick<NewRefusal, 'status' | 'error'>> => ({
  status: error.status < 500 ? 'rejected' : 'failed',
  error: { type: error.code, ...recordedMessage(error) },
})

/** The record of a handshake, without the tokens in its body. */
export function handshakeOf(request: FastifyRequest, authContext: AuthContext): Omit<NewRefusal, 'id' | 'hook'> {
  const body = storedBody(request, authContext)
  return {
    ...senderOf(request, authContext),
    body: body && redactBody(body),
    status: 'skipped',
    reason: 'handshake',
  }
}

/**
 * Null when the body is not stored or was not read. Of a multipart body only the text without the content of files is
 * stored, which exists as soon as the body is parsed.
 */
function storedBody({ rawBody, text, headers }: FastifyRequest, { keepBody }: AuthContext): string | null {
  if (!keepBody) return null
  if (isMultipart(headers['content-type'])) return text || null
  return text || (rawBody?.toString('utf8') ?? null)
}

const senderOf = (
  request: FastifyRequest,
  { hiddenHeaders = [], authentication }: Pick<AuthContext, 'hiddenHeaders' | 'authentication'>,
) => ({
  client: request.client.address,
  headers: redactHeaders(request.headers, hiddenHeaders),
  query: queryOf(request),
  authentication,
})

/** The record may quote what a transform threw; the reply to the sender and the log must not. */
function recordedMessage(error: GatewayError): { message: string; detail?: string } {
  if (!(error instanceof TransformError)) return { message: error.publicMessage }
  return { message: error.message, ...(error.detail !== undefined && { detail: error.detail }) }
}

/**
 * An id that the provider assigned identifies the request by itself, because retries carry new times and counters. A
 * key that the caller chose is compared with the body. The two have separate scopes: a caller must not be able to use
 * up the id of a future request.
 */
function idempotencyOf(
  request: FastifyRequest,
  hook: string,
  { signedId, providerId, source, verifiedBy }: RequestIds,
): IncomingRequest['idempotency'] {
  // Neither the name of a hook nor `?source` can contain what separates the senders.
  const sender = verifiedBy === undefined ? hook : `${hook}#${verifiedBy}`
  const key = signedId === undefined && request.headers['idempotency-key'] !== undefined ? readKey(request) : undefined
  // Some providers send their id in this header.
  if (key !== undefined && key !== providerId)
    return { scope: `hook:${sender}`, key, bodyHash: hash('sha256', request.rawBody, 'base64') }
  const id = signedId ?? providerId
  if (id === undefined) return undefined
  const scope = source === undefined ? sender : `${sender}?${source}`
  if (typeof id === 'object')
    return {
      scope: `latest:${scope}`,
      key: hash('sha256', id.subject, 'base64'),
      bodyHash: hash('sha256', id.content, 'base64'),
      latestOnly: true,
    }
  checkProviderId(id)
  return { scope: `provider:${scope}`, key: id, bodyHash: '' }
}

export function checkProviderId(id: string): void {
  if (id.length <= maxKeyLength) return
  throw new GatewayError(
    'invalid_request',
    `The id of the request is longer than ${maxKeyLength} characters; use a shorter id.`,
  )
}

function readKey(request: FastifyRequest): string {
  const key = headerReader(request)('idempotency-key') ?? ''
  if (!key.trim())
    throw new GatewayError('invalid_request', 'Idempotency-Key is blank; send a key, or leave the header out.')
  if (key.length > maxKeyLength)
    throw new GatewayError(
      'invalid_request',
      `Idempotency-Key is longer than ${maxKeyLength} characters; send a shorter one.`,
    )
  return key
}

const queryOf = ({ url, query }: FastifyRequest): string | undefined =>
  url.includes('?') ? redactQuery(query) : undefined
