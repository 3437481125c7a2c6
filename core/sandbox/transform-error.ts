// The errors of transforms. A message never contains what the transform itself threw, which may be payload; `detail`
// does.
import { type ErrorCode, GatewayError } from '../errors.ts'
import type { LogLine } from './ipc-frames.ts'

/**
 * - `missing`, `compile`, `no_function`: the file cannot be run until it is fixed.
 * - `timeout`, `memory`, `crash`: the transform exceeded a limit or ended its process.
 * - `disabled`: the circuit breaker is open after repeated failures.
 * - `threw`, `bad_result`: the transform threw, or returned an invalid result.
 * - `payload_mismatch`: the payload does not match the schema that the transform declares.
 * - `busy`: the transform did not start, because too many runs are waiting or the sandbox is restarting.
 */
export type TransformFault =
  | 'missing'
  | 'compile'
  | 'no_function'
  | 'timeout'
  | 'memory'
  | 'crash'
  | 'disabled'
  | 'threw'
  | 'bad_result'
  | 'payload_mismatch'
  | 'busy'

interface TransformErrorOptions {
  cause?: unknown
  /** What the transform threw. It must not be logged, because it may contain payload. */
  detail?: string | undefined
  /** The lines that the transform logged before it failed. */
  logs?: readonly LogLine[]
}

/** Answered as 400 for `payload_mismatch`, 503 for `busy`, and otherwise 500 with a fixed message. */
export class TransformError extends GatewayError {
  readonly fault: TransformFault
  readonly detail: string | undefined
  readonly logs: readonly LogLine[]

  constructor(fault: TransformFault, message: string, { cause, detail, logs = [] }: TransformErrorOptions = {}) {
    super(codes[fault] ?? 'transform_failed', message, { cause, ...(fault === 'busy' && { retryAfter: 1 }) })
    this.fault = fault
    this.detail = detail
    this.logs = logs
  }
}

const codes: Partial<Record<TransformFault, ErrorCode>> = { payload_mismatch: 'invalid_request', busy: 'overloaded' }
