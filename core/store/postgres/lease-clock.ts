// The clock of leases: the database's, because the clocks of the gateways differ. Callers use their own clock; what
// they say about leases is shifted on its way to the database.
import type { OperationName, StoreCall } from '../operations.ts'
import type { Database } from './database.ts'

export interface LeaseClock {
  /** Reads the database's clock. */
  measure(): Promise<void>
  /** Returns the time of the database, in milliseconds. */
  now(): number
  /** Returns the call with its lease times by the database's clock. */
  shift(call: StoreCall): StoreCall
}

const nowSql = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now'

export function createLeaseClock(database: Pick<Database, 'query'>): LeaseClock {
  let measured: { time: number; at: number } | undefined

  /** Uses the monotonic clock, so that a change of the wall clock is compensated at once. */
  const now = (): number => (measured ? measured.time + performance.now() - measured.at : Date.now())

  /** In whole seconds, because the measurement is not exact, and leases last much longer. */
  const computeShift = (): number => Math.round((now() - Date.now()) / 1000) * 1000

  return {
    now,
    measure: async () => {
      const sentAt = performance.now()
      const [row] = await database.query<{ now: number }>(nowSql)
      if (row) measured = { time: row.now, at: (sentAt + performance.now()) / 2 }
    },
    shift: (call) => {
      const [name, args] = call
      const shiftArgs = shifts[name]
      const ms = shiftArgs ? computeShift() : 0
      return shiftArgs && ms !== 0 ? ([name, shiftArgs(args as never, ms)] as unknown as StoreCall) : call
    },
  }
}

interface Claim {
  leaseMs: number
}

const shiftClaim = ([claim]: [Claim], ms: number) => [{ ...claim, leaseMs: claim.leaseMs + ms }]
const shiftTime = ([at, ...others]: [number], ms: number) => [at + ms, ...others]

const shifts: Partial<Record<OperationName, (args: never, ms: number) => readonly unknown[]>> = {
  claimRuns: shiftClaim,
  claimDeliveries: shiftClaim,
  recoverExpiredRuns: shiftTime,
  recoverExpiredDeliveries: shiftTime,
  renewRun: ([run, until]: [unknown, number], ms) => [run, until + ms],
  acquireLease: ([name, owner, at, until]: [string, string, number, number], ms) => [name, owner, at + ms, until + ms],
}
