// Logs an outage in two lines, however many failures it causes: its cause when it begins, and the number of failures
// when it ends.
import { describeError } from './errors.ts'
import type { Log } from './plugin/plugin.ts'

export interface Outage {
  /** Records a failure. The first one is logged, and so is each one with a new cause. */
  failed(error: unknown, fields?: object): void
  /** Records a success. Returns true when it ends an outage. */
  worked(fields?: object): boolean
}

interface OutageMessages {
  failed: string
  /** Logged only at the end of an outage. */
  worked: string
  level?: 'warn' | 'error'
  /** Describes the cause without payload and secrets. */
  describe?: (error: unknown) => { reason: string }
}

export function createOutage(
  log: Log,
  { failed, worked, level = 'error', describe = describeError }: OutageMessages,
): Outage {
  let cause: string | undefined
  let failures = 0
  return {
    failed: (error, fields = {}) => {
      const described = describe(error)
      failures++
      if (described.reason === cause) return
      cause = described.reason
      log[level]({ ...fields, ...described }, failed)
    },
    worked: (fields = {}) => {
      if (failures === 0) return false
      log.info({ ...fields, failures }, worked)
      cause = undefined
      failures = 0
      return true
    },
  }
}
