// The clock of the database, which the gateways share. Leases are by it: callers use their own clock, and what they say
// about leases is shifted on its way to the database. A gateway whose clock is far off may not use the store.
import type { Log } from '../../plugin/plugin.ts'
import type { OperationName, StoreCall } from '../operations.ts'
import type { Database } from './database.ts'

export interface StoreClock {
  /** Reads the database's clock, and logs if this gateway's differs. */
  measure(): Promise<void>
  /** Why this gateway may not use the store at the moment: a sentence. */
  findFault(): string | undefined
  /** Returns the time of the database, in milliseconds. */
  now(): number
  /** Returns the call with its lease times by the database's clock. */
  shift(call: StoreCall): StoreCall
}

const nowSql = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now'

/** Senders sign the time, keys expire and records are purged: beyond this, each of them would go wrong. */
const maxDifferenceMs = 60_000
const notableDifferenceMs = 2_000
/** A slower answer says too little about the time. */
const maxAnswerMs = 1_000

export function createStoreClock(database: Pick<Database, 'query'>, log: Log): StoreClock {
  let measured: { time: number; at: number } | undefined
  let isReported = false

  /** Uses the monotonic clock, so that a change of the wall clock is compensated at once. */
  const now = (): number => (measured ? measured.time + performance.now() - measured.at : Date.now())

  /** In whole seconds, because the measurement is not exact, and leases last much longer. */
  const computeShift = (): number => Math.round((now() - Date.now()) / 1000) * 1000

  /** Positive: this gateway's clock is ahead. */
  const difference = (): number => Date.now() - now()

  function report(): void {
    const isNotable = Math.abs(difference()) >= notableDifferenceMs
    if (isNotable && !isReported)
      log.warn(
        { seconds: Math.round(difference() / 1000) },
        'the clock differs from that of the database; synchronize it',
      )
    isReported = isNotable
  }

  return {
    now,
    measure: async () => {
      const sentAt = performance.now()
      const [row] = await database.query<{ now: number }>(nowSql)
      const answeredAt = performance.now()
      if (row && (!measured || answeredAt - sentAt <= maxAnswerMs))
        measured = { time: row.now, at: (sentAt + answeredAt) / 2 }
      report()
    },
    findFault: () => {
      const seconds = Math.round(difference() / 1000)
      if (Math.abs(difference()) < maxDifferenceMs) return undefined
      const direction = seconds > 0 ? 'ahead of' : 'behind'
      return `The clock of this gateway is ${Math.abs(seconds)} seconds ${direction} that of the database; synchronize both.`
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
