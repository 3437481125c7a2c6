// What can go wrong with a transform. Its message never holds what the transform itself said: that may be payload, and
// stands in `detail`.
import { type ErrorCode, GatewayError } from '../errors.ts'
import type { LogLine } from './ipc-frames.ts'

/**
 * - `missing`, `compile`, `no_function`: there is nothing that could run, until the file is mended.
 * - `timeout`, `memory`, `crash`: it had to be ended, or ended its process. `disabled`: that has happened too often.
 * - `threw`, `bad_result`: it ran, and what came of it is no result.
 * - `payload_mismatch`: the payload does not fit the schema that it declares.
 * - `busy`: too many calls wait, or none can be taken at the moment; it never began.
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
  /** What the transform threw, in its own words. Not for the log: it may hold payload. */
  detail?: string | undefined
  /** The lines that it had logged by then. */
  logs?: readonly LogLine[]
}

/**
 * As every error of the table: a payload that does not fit is 400, a full house 503, all else 500 with a fixed
 * sentence.
 */
export class TransformError extends GatewayError {
  readonly fault: TransformFault
  readonly detail: string | undefined
  readonly logs: readonly LogLine[]

  constructor(fault: TransformFault, sentence: string, { cause, detail, logs = [] }: TransformErrorOptions = {}) {
    super(codes[fault] ?? 'transform_failed', sentence, { cause, ...(fault === 'busy' && { retryAfter: 1 }) })
    this.fault = fault
    this.detail = detail
    this.logs = logs
  }
}

const codes: Partial<Record<TransformFault, ErrorCode>> = { payload_mismatch: 'invalid_request', busy: 'overloaded' }
