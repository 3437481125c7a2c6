// Logs an outage in two lines, however many failures it causes: its cause when it begins, and the number of failures
// when it ends.
import { describeError } from './errors.ts'
import type { Log } from './plugin/plugin.ts'

export interface Outage {
  /** Records a failure. Each cause of an outage is logged once, up to ten. */
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

/** A reason may contain what differs each time, such as an id. */
const maxCauses = 10

export function createOutage(
  log: Log,
  { failed, worked, level = 'error', describe = describeError }: OutageMessages,
): Outage {
  const causes = new Set<string>()
  let failures = 0
  return {
    failed: (error, fields = {}) => {
      const described = describe(error)
      failures++
      if (causes.has(described.reason) || causes.size === maxCauses) return
      causes.add(described.reason)
      log[level]({ ...fields, ...described }, failed)
    },
    worked: (fields = {}) => {
      if (failures === 0) return false
      log.info({ ...fields, failures }, worked)
      causes.clear()
      failures = 0
      return true
    },
  }
}
