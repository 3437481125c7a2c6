// JSON-RPC 2.0: parses messages, calls methods and builds responses, independent of the connection.
import { type ErrorCode, GatewayError } from '../../errors.ts'
import type { Access } from '../../http/access.ts'
import { decode } from '../../http/charset.ts'
import { parsePayload } from '../../http/payload.ts'
import { toGatewayError } from '../../http/replies.ts'
import { type Check, compileCheck, firstProblem, type Static, type TSchema } from '../../typebox.ts'

/** A method. `run` receives params that match the schema, and returns the result. */
export interface Method<Caller> {
  /** What the caller needs. Absent: it is called before the caller is known. */
  access?: Access | undefined
  check(): Check
  run(params: unknown, caller: Caller): unknown
}

/** Creates a method. Its schema is compiled at the first call. */
export function method<Caller, Params extends TSchema>(
  params: Params,
  run: (params: Static<Params>, caller: Caller) => unknown,
): Method<Caller> {
  let check: Check | undefined
  return { check: () => (check ??= compileCheck(params)), run }
}

export interface RpcDeps<Caller> {
  find(method: string): Method<Caller> | undefined
  caller: Caller
  /** Throws if the caller may not call the method. */
  authorize(method: Method<Caller>): void
  /** How many calls may run at once, and how many one batch may contain. */
  maxCalls: number
  /** Called with every failure, for the log. `method` is undefined when it is unknown. */
  onFailure(error: GatewayError, method: string | undefined): void
}

type Id = string | number | bigint | null

type RpcResponse = { jsonrpc: '2.0'; id: Id } & (
  | { result: unknown }
  | { error: { code: number; message: string; data: object } }
)

/**
 * Handles a message. Resolves with undefined for notifications. All calls have started, in order, when this returns.
 */
export type Rpc = (message: Buffer) => Promise<RpcResponse | RpcResponse[] | undefined>

export function createRpc<Caller>(deps: RpcDeps<Caller>): Rpc {
  const { find, caller, authorize, maxCalls, onFailure } = deps
  let activeCalls = 0

  const call = async (request: unknown): Promise<RpcResponse | undefined> => {
    const parsed = readRequest(request)
    if ('problem' in parsed) return reject(parsed.id, parsed.problem)
    const { id, method: name, params } = parsed
    const found = find(name)
    activeCalls += 1
    try {
      if (activeCalls > maxCalls) throw new GatewayError('too_many_calls')
      if (!found) throw new GatewayError('not_found', 'The method does not exist.')
      authorize(found)
      checkParams(found, params)
      const result = await found.run(params, caller)
      return id === undefined ? undefined : { jsonrpc: '2.0', id, result: result ?? null }
    } catch (error) {
      const failed = fail(id ?? null, toGatewayError(error), { method: found && name })
      return id === undefined ? undefined : failed
    } finally {
      activeCalls -= 1
    }
  }

  const fail = (
    id: Id,
    error: GatewayError,
    { method, code }: { method?: string | undefined; code?: number },
  ): RpcResponse => {
    onFailure(error, method)
    const data = { type: error.code, ...(error.retryAfter !== undefined && { retryAfter: error.retryAfter }) }
    return { jsonrpc: '2.0', id, error: { code: code ?? codeOf(error.code), message: error.publicMessage, data } }
  }

  const reject = (id: Id, problem: string): RpcResponse =>
    fail(id, new GatewayError('invalid_request', problem), { code: codes.invalidRequest })

  const callAll = async (batch: readonly unknown[]): Promise<RpcResponse | RpcResponse[] | undefined> => {
    if (batch.length === 0) return reject(null, 'The batch is empty.')
    if (batch.length > maxCalls) return reject(null, `The batch contains more than ${maxCalls} calls.`)
    const responses = (await Promise.all(batch.map(call))).filter((response) => response !== undefined)
    return responses.length > 0 ? responses : undefined
  }

  return async (message) => {
    const parsed = parse(message)
    if (parsed instanceof GatewayError)
      return fail(null, parsed, { code: parsed.code === 'invalid_json' ? codes.parseError : codes.invalidRequest })
    return Array.isArray(parsed) ? await callAll(parsed) : await call(parsed)
  }
}

const codes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  other: -32_000,
} as const

/** Errors without a code of their own in the protocol are distinguished by `data.type`. */
function codeOf(code: ErrorCode): number {
  if (code === 'not_found') return codes.methodNotFound
  if (code === 'invalid_request' || code === 'invalid_arguments') return codes.invalidParams
  return code === 'internal_error' ? codes.internalError : codes.other
}

function parse(message: Buffer): object | GatewayError {
  try {
    return parsePayload(decode(message), 'object-or-array-or-form', undefined)
  } catch (error) {
    return toGatewayError(error)
  }
}

interface Request {
  /** Undefined for a notification, which gets no response. */
  id: Id | undefined
  method: string
  params: object
}

function readRequest(request: unknown): Request | { id: Id; problem: string } {
  const {
    jsonrpc,
    id,
    method,
    params = {},
  } = (typeof request === 'object' && request !== null ? request : {}) as Partial<Record<string, unknown>>
  if (id !== undefined && !isId(id)) return { id: null, problem: 'id must be a string or a number.' }
  if (jsonrpc !== '2.0') return { id: id ?? null, problem: 'jsonrpc must be "2.0".' }
  if (typeof method !== 'string') return { id: id ?? null, problem: 'method must be a string.' }
  if (typeof params !== 'object' || params === null) return { id: id ?? null, problem: 'params must be an object.' }
  return { id, method, params }
}

const isId = (id: unknown): id is Id => id === null || ['string', 'number', 'bigint'].includes(typeof id)

function checkParams({ check }: Pick<Method<never>, 'check'>, params: object): void {
  const { fits, problems } = check()
  if (!fits(params)) throw new GatewayError('invalid_request', `${firstProblem(problems(params), 'params')}.`)
}
