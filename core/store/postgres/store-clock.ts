// The clock of the database, which the gateways share. Leases, keys and retention are by it: callers use their own clock,
// and what they say is shifted on its way to the database. A gateway whose clock is far off may not use the store.
import { GatewayError } from '../../errors.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { AcceptCommand } from '../accept.ts'
import type { OperationName, StoreCall } from '../operations.ts'
import type { Database } from './database.ts'

export interface StoreClock {
  /** Measures until an answer is quick enough. Throws if none is. */
  start(): Promise<void>
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
const maxStartTries = 10

export function createStoreClock(database: Pick<Database, 'query'>, log: Log): StoreClock {
  let measured: { time: number; at: number } | undefined
  let isReported = false

  /** Uses the monotonic clock, so that a change of the wall clock is compensated at once. */
  const now = (): number => (measured ? Math.round(measured.time + performance.now() - measured.at) : Date.now())

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

  async function measure(): Promise<void> {
    const sentAt = performance.now()
    const [row] = await database.query<{ now: number }>(nowSql)
    const answeredAt = performance.now()
    if (!row || answeredAt - sentAt > maxAnswerMs) return
    measured = { time: row.now, at: (sentAt + answeredAt) / 2 }
    report()
  }

  return {
    now,
    measure,
    start: async () => {
      for (let tries = 0; !measured && tries < maxStartTries; tries++) await measure()
      if (!measured) throw new GatewayError('store_unavailable', slow)
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

const slow =
  'The database takes more than a second for each answer, so that the clocks cannot be compared; relieve it, or bring it ' +
  'nearer.'

interface Claim {
  leaseMs: number
}

const shiftClaim = ([claim]: [Claim], ms: number) => [{ ...claim, leaseMs: claim.leaseMs + ms }]
const shiftTime = ([at, ...others]: [number], ms: number) => [at + ms, ...others]
const shiftSecond = ([first, at]: [unknown, number], ms: number) => [first, at + ms]
const shiftStep = ([step]: [{ before: number }], ms: number) => [{ ...step, before: step.before + ms }]
const shiftAccept = ([command]: [AcceptCommand], ms: number) => {
  const { at, idempotency } = command
  const key = idempotency && { ...idempotency, expiresAt: idempotency.expiresAt + ms }
  return [{ ...command, at: at + ms, idempotency: key }]
}

const shifts: Partial<Record<OperationName, (args: never, ms: number) => readonly unknown[]>> = {
  claimRuns: shiftClaim,
  claimDeliveries: shiftClaim,
  recoverExpiredRuns: shiftTime,
  recoverExpiredDeliveries: shiftTime,
  renewRun: ([run, until]: [unknown, number], ms) => [run, until + ms],
  accept: shiftAccept,
  recordRefusal: shiftSecond,
  hasKey: shiftSecond,
  purgeExpiredKeys: shiftTime,
  purge: shiftStep,
  purgeBodies: shiftStep,
  purgeStepContents: shiftStep,
  purgeAudit: shiftStep,
  acquireLease: ([name, owner, at, until]: [string, string, number, number], ms) => [name, owner, at + ms, until + ms],
}
