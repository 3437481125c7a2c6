// The table of errors: a stable code, its HTTP status and a default message.

/**
 * Rows: code → [status, message]. Callers always get the message of a 5xx row; an error with a 4xx code may carry a
 * message of its own, for example one that names the field.
 */
export const errorTable = {
  invalid_request: [400, 'The request is not valid.'],
  invalid_json: [400, 'The body is not valid JSON; send one UTF-8 encoded JSON object.'],
  malformed_header: [400, 'A header is malformed or repeated; send it once.'],
  token_in_query: [400, 'A token in the query string is not accepted; send it as "Authorization: Bearer <token>".'],
  malformed_http: [400, 'The request is not valid HTTP.'],
  invalid_arguments: [400, 'The arguments do not fit the schema of the tool.'],
  unauthorized: [401, 'The credential is missing or wrong; send "Authorization: Bearer <token>".'],
  forbidden: [403, 'The role of this client does not allow it.'],
  origin_not_allowed: [403, 'Pages of this origin may not talk to the gateway; list it in gateway.allowedOrigins.'],
  approval_required: [403, 'A person must approve this call; use a credential that may approve.'],
  tool_withheld: [403, 'The tool is withheld while external content is at hand.'],
  not_found: [404, 'There is nothing at this path.'],
  run_not_found: [404, 'There is no run with this id.'],
  request_not_found: [404, 'There is no request with this id.'],
  delivery_not_found: [404, 'There is no delivery with this id.'],
  session_not_found: [404, 'There is no session with this key.'],
  approval_not_found: [404, 'There is no approval with this id.'],
  pairing_not_found: [404, 'No sender is waiting with this code, or known under this id; a code is valid for an hour.'],
  tool_not_available: [404, 'The tool is not available.'],
  method_not_allowed: [405, 'This path takes another method; see the Allow header.'],
  request_timeout: [408, 'The request did not arrive in time; send it whole, faster.'],
  conflict: [409, 'The state of things does not allow this.'],
  precondition_failed: [412, 'This has changed since you read it; read it again.'],
  payload_too_large: [413, 'The body is too large.'],
  unsupported_encoding: [415, 'A compressed body is not accepted; send it without Content-Encoding.'],
  idempotency_conflict: [422, 'This Idempotency-Key was used with another body; take a new key for a new body.'],
  upgrade_required: [426, 'This path speaks WebSocket; connect with a WebSocket client.'],
  rate_limited: [429, 'Too many failed attempts from this address; wait as long as Retry-After says.'],
  too_many_requests: [429, 'This hook takes no more requests at the moment; try again as Retry-After says.'],
  budget_exceeded: [429, 'A budget is used up; try again as Retry-After says.'],
  too_many_calls: [429, 'Too many calls of this connection are under way; wait for some of them to end.'],
  headers_too_large: [431, 'The headers are too large.'],
  internal_error: [500, "Something went wrong inside. See the gateway's log."],
  tool_failed: [500, "The tool failed. See the gateway's log."],
  transform_failed: [500, "The hook's transform failed. See the gateway's log."],
  scheme_failed: [500, "The hook's scheme could not verify the sender. See the gateway's log."],
  model_failed: [502, "The model failed or could not be reached. See the run's record."],
  overloaded: [503, 'Too many runs are waiting; try again as Retry-After says.'],
  store_unavailable: [
    503,
    'The gateway cannot store anything at the moment; try again as Retry-After says, ' +
      'under an Idempotency-Key where it must not count twice.',
  ],
  store_damaged: [
    503,
    "The gateway's store is damaged, so this cannot be read or stored; " +
      "the gateway's log names the file and says what to do.",
  ],
  shutting_down: [503, 'The gateway is starting or stopping; try again as Retry-After says.'],
  channel_unavailable: [503, 'The channel cannot take this request at the moment; try again as Retry-After says.'],
  keys_unavailable: [
    503,
    'The public keys of the sender cannot be fetched at the moment; try again as Retry-After says.',
  ],
  tool_timeout: [504, 'The tool did not answer within its time limit.'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>

export type ErrorCode = keyof typeof errorTable

interface ErrorOptionsOfGateway {
  cause?: unknown
  /** Seconds for the `Retry-After` header: a whole number of at least 1. */
  retryAfter?: number
}

/** The error that the core throws. One handler turns it into the response body. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly status: number
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, sentence?: string, options: ErrorOptionsOfGateway = {}) {
    super(sentence ?? errorTable[code][1], { cause: options.cause })
    this.code = code
    this.status = errorTable[code][0]
    this.retryAfter = options.retryAfter
  }

  /** The message for the caller: that of the table for 5xx, else the error's own. */
  get publicMessage(): string {
    return this.status >= 500 ? errorTable[this.code][1] : this.message
  }
}

/** The class of an error and the first line of its stack, without its message, which may contain private data. */
export function throwSiteOf(cause: unknown): { cause?: string; at?: string } {
  if (!(cause instanceof Error)) return cause === undefined ? {} : { cause: typeof cause }
  const stack = cause.stack ?? ''
  const message = stack.indexOf(cause.message)
  const at = message === -1 ? null : /\n[ \t]+at (.+)/.exec(stack.slice(message + cause.message.length))
  return { cause: cause.constructor.name, ...(at?.[1] !== undefined && { at: at[1] }) }
}

/**
 * Describes an error for the log: the message of a `GatewayError`, the code of a system error, and otherwise the class
 * and the place, because the message may contain private data.
 */
export function describeError(error: unknown): { reason: string; at?: string } {
  if (error instanceof GatewayError) return { reason: error.message }
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  if (typeof code === 'string') return { reason: syscall === undefined ? code : `${syscall} failed: ${code}` }
  const { cause = 'undefined', at } = throwSiteOf(error)
  return { reason: cause, ...(at !== undefined && { at }) }
}

/**
 * Describes what an extension threw, for the log and the state of the extension: class and message, the place in its
 * code, and the causes. Secrets of the configuration are removed where it is shown.
 */
export function describeThrown(error: unknown): { reason: string; at?: string; cause?: string } {
  const at = placeOf(error)
  const causes = causesOf(error).map(firstLineOf).join('; ')
  return { reason: firstLineOf(error), ...(at !== undefined && { at }), ...(causes !== '' && { cause: causes }) }
}

/**
 * Describes an error whose text may contain payload, for the log: its class, the place, and the code or class of each
 * cause.
 */
export function describeWithoutText(error: unknown): { reason: string; at?: string; cause?: string } {
  const { cause: reason = 'undefined', at } = throwSiteOf(error)
  const causes = causesOf(error).map((cause) => codeOf(cause) ?? throwSiteOf(cause).cause)
  return { reason, ...(at !== undefined && { at }), ...(causes.length > 0 && { cause: causes.join('; ') }) }
}

/** `connect ECONNREFUSED`, without the address, which may come from the payload. */
function codeOf(error: unknown): string | undefined {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  if (typeof code !== 'string' || !/^[A-Z][A-Z0-9_]{0,40}$/.test(code)) return undefined
  return typeof syscall === 'string' && /^[a-z]{1,20}$/.test(syscall) ? `${syscall} ${code}` : code
}

/** The class and the first line of the message, at most 300 characters. */
export function firstLineOf(error: unknown): string {
  const text = error instanceof Error ? `${classOf(error)}: ${error.message}` : String(error)
  return (text.split('\n', 1)[0] as string).trimEnd().slice(0, 300).toWellFormed()
}

const classOf = ({ name, constructor }: Error): string => (name === 'Error' ? constructor.name : name)

/** The first line of the stack that is neither of Node nor of a package, or else the first line. */
function placeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const places = (error.stack ?? '').split('\n').flatMap((line) => /^\s+at (.+)$/.exec(line)?.[1] ?? [])
  return places.find((place) => !/node:|[\\/]node_modules[\\/]/.test(place)) ?? places[0]
}

const maxCauses = 3

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let at = error; at instanceof Error && at.cause !== undefined && causes.length < maxCauses; at = at.cause)
    causes.push(at.cause)
  return causes
}
