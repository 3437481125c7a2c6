// Group commit: while one batch is being written the next one collects, so that many calls share one fsync and nobody waits for a timer.
import { GatewayError } from '../errors.ts'
import type { Call } from './operations.ts'

/** What became of a batch. `failures`: calls that failed alone, with the reason. `unavailable`: nothing was promised to be kept, and why. */
export type BatchOutcome = { results: readonly unknown[]; failures: readonly (readonly [index: number, reason: string])[] } | { unavailable: string }

export interface Limits {
  /** Calls in one batch. */
  batch: number
  /** Waiting calls from which on no new work is taken in; calls that belong to work taken in earlier still are. */
  hasty: number
  /** Waiting calls from which on nothing is taken any more. */
  calls: number
  /** Characters that waiting new work may hold. */
  characters: number
  deadlineMs: number
}

export const limits: Limits = { batch: 256, hasty: 2000, calls: 4000, characters: 64 * 1024 * 1024, deadlineMs: 5000 }

export interface GroupCommit {
  /** Resolves with the call's result when it is on disk. */
  call(call: Call): Promise<unknown>
  /** The same for new work that somebody waits for: refused when too much waits already, given up after `deadlineMs`. */
  callInHaste(call: Call, characters: number): Promise<unknown>
  /** Writes what waits, then takes no more. */
  close(): Promise<void>
}

interface Waiting {
  call: Call
  characters: number
  /** When its patience ends; Infinity: it waits as long as it takes. */
  until: number
  resolve: (result: unknown) => void
  reject: (error: GatewayError) => void
}

export function createGroupCommit(commit: (batch: readonly Call[]) => Promise<BatchOutcome>, bounds: Limits = limits): GroupCommit {
  let waiting: Waiting[] = []
  let inFlight: readonly Waiting[] = []
  let characters = 0
  let flushing: Promise<void> | undefined
  let alarm: NodeJS.Timeout | undefined
  let closed = false

  function enqueue(call: Call, size: number, until: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      waiting.push({ call, characters: size, until, resolve, reject })
      characters += size
      flushing ??= nextTurn().then(flush)
    })
  }

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      inFlight = waiting.splice(0, bounds.batch)
      settle(inFlight, await commit(inFlight.map(({ call }) => call)).catch(asOutcome))
      for (const { characters: size } of inFlight) characters -= size
      inFlight = []
    }
    flushing = undefined
  }

  /** Whoever is given up may still be written: like any lost answer, that is for the caller's key to tell. */
  function giveUpLate(): void {
    const now = performance.now()
    const late = (entry: Waiting) => entry.until <= now
    for (const { reject } of [...waiting, ...inFlight].filter(late)) reject(unavailable('The store did not answer in time.'))
    for (const { characters: size } of waiting.filter(late)) characters -= size
    waiting = waiting.filter((entry) => !late(entry))
    alarm = undefined
    const next = Math.min(...[...waiting, ...inFlight].filter((entry) => !late(entry)).map(({ until }) => until))
    if (next < Infinity) setAlarm(next - now)
  }

  function setAlarm(ms: number): void {
    alarm = setTimeout(giveUpLate, Math.ceil(ms))
    alarm.unref()
  }

  return {
    call: (call) => (closed || waiting.length >= bounds.calls ? refuse(closed) : enqueue(call, 0, Infinity)),
    callInHaste(call, size) {
      if (closed || waiting.length >= bounds.hasty || characters >= bounds.characters) return refuse(closed)
      if (!alarm) setAlarm(bounds.deadlineMs)
      return enqueue(call, size, performance.now() + bounds.deadlineMs)
    },
    async close() {
      closed = true
      await flushing
      clearTimeout(alarm)
    },
  }
}

/** Lets everything that arrived in this turn of the loop into the batch. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

function settle(batch: readonly Waiting[], outcome: BatchOutcome): void {
  if ('unavailable' in outcome) {
    const error = unavailable(outcome.unavailable)
    for (const { reject } of batch) reject(error)
    return
  }
  for (const [index, reason] of outcome.failures) batch[index]?.reject(new GatewayError('internal_error', `The store refused an operation: ${reason}`))
  for (const [index, { resolve }] of batch.entries()) resolve(outcome.results[index])
}

const asOutcome = (error: Error): BatchOutcome => ({ unavailable: error.message })

const unavailable = (sentence: string) => new GatewayError('store_unavailable', sentence, { retryAfter: 1 })

const refuse = (closed: boolean) => Promise.reject(unavailable(closed ? 'The store is closed.' : 'Too many writes are waiting.'))
