// Logs an outage in two lines, however often it is met: when it begins, with its cause, and when it is over, with the
// number of failures.
import { describeError } from './errors.ts'
import type { Log } from './plugin.ts'

export interface Outage {
  /** It failed. A cause that is not the last one's is logged, too. */
  failed(error: unknown, fields?: object): void
  /** It worked. True: it had failed before, and that is over. */
  worked(fields?: object): boolean
}

interface OutageMessages {
  failed: string
  /** Logged only where it had failed before. */
  worked: string
  level?: 'warn' | 'error'
  /** Puts the cause into words that hold no payload and no secret. */
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
