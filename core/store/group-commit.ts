// Group commit, the callers' side: calls leave in small groups while others are being written, and the store's thread
// puts all that has come into one commit.
import { GatewayError } from '../errors.ts'
import type { Call } from './operations/operations.ts'
import type { Failure } from './sqlite/failure.ts'

/**
 * What became of some calls. `failures`: those that failed, and why. `unavailable`: nothing was promised to be kept,
 * and why.
 */
export type Outcome =
  | { results: unknown[]; failures: (readonly [index: number, failure: Failure])[] }
  | { unavailable: string }

export interface Limits {
  /** Calls that are sent without waiting for the end of the loop's turn. */
  group: number
  /** Unanswered calls from which on no new work is taken in; calls that belong to work taken in earlier still are. */
  hasty: number
  /** Unanswered calls from which on nothing is taken any more. */
  calls: number
  /** Characters that unanswered new work may hold. */
  characters: number
  deadlineMs: number
}

export const limits: Limits = { group: 32, hasty: 2000, calls: 4000, characters: 64 * 1024 * 1024, deadlineMs: 5000 }

/** Groups under way that keep the store's thread busy: beyond them only full ones are sent. */
const busy = 2

export interface GroupCommit {
  /** Resolves with the call's result when it is on disk. */
  call(call: Call): Promise<unknown>
  /**
   * The same for new work that somebody waits for: refused when too much waits already, given up after `deadlineMs`.
   */
  callInHaste(call: Call, characters: number): Promise<unknown>
  /** Takes no more, and waits for what it has taken. */
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

export function createGroupCommit(
  commit: (calls: readonly Call[]) => Promise<Outcome>,
  bounds: Limits = limits,
): GroupCommit {
  let collected: Waiting[] = []
  // No Map: one that is written and emptied all the time leaves tables behind that keep the garbage collector from all
  // that was ever in them.
  let sent: { group: readonly Waiting[]; done: Promise<void> }[] = []
  let unanswered = 0
  let characters = 0
  let turn: NodeJS.Immediate | undefined
  let alarm: NodeJS.Timeout | undefined
  let closed = false

  function enqueue(call: Call, size: number, until: number): Promise<unknown> {
    unanswered++
    characters += size
    return new Promise((resolve, reject) => {
      collected.push({ call, characters: size, until, resolve, reject })
      if (collected.length >= bounds.group) send()
      else if (sent.length < busy) turn ??= setImmediate(send)
    })
  }

  function send(): void {
    clearImmediate(turn)
    turn = undefined
    if (collected.length === 0) return
    const group = collected
    collected = []
    sent.push({ group, done: finish(group) })
  }

  async function finish(group: readonly Waiting[]): Promise<void> {
    settle(group, await commit(group.map(({ call }) => call)).catch(asOutcome))
    sent = sent.filter((one) => one.group !== group)
    if (collected.length > 0 && sent.length < busy) turn ??= setImmediate(send)
    unanswered -= group.length
    for (const { characters: size } of group) characters -= size
  }

  /** Whoever is given up is written all the same: like any lost answer, that is for the caller's key to tell. */
  function giveUpLate(): void {
    const now = performance.now()
    let next = Infinity
    for (const { until, reject } of [...sent.flatMap(({ group }) => group), ...collected]) {
      if (until <= now) reject(unavailable('The store did not answer in time.'))
      else next = Math.min(next, until)
    }
    alarm = undefined
    if (next < Infinity) setAlarm(next - now)
  }

  function setAlarm(ms: number): void {
    alarm = setTimeout(giveUpLate, Math.ceil(ms))
    alarm.unref()
  }

  return {
    call: (call) => (closed || unanswered >= bounds.calls ? refuse(closed) : enqueue(call, 0, Infinity)),
    callInHaste(call, size) {
      if (closed || unanswered >= bounds.hasty || characters >= bounds.characters) return refuse(closed)
      if (!alarm) setAlarm(bounds.deadlineMs)
      return enqueue(call, size, performance.now() + bounds.deadlineMs)
    },
    async close() {
      closed = true
      send()
      await Promise.all(sent.map(({ done }) => done))
      clearTimeout(alarm)
    },
  }
}

function settle(group: readonly Waiting[], outcome: Outcome): void {
  if ('unavailable' in outcome) {
    const error = unavailable(outcome.unavailable)
    for (const { reject } of group) reject(error)
    return
  }
  for (const [index, failure] of outcome.failures) group[index]?.reject(errorOf(failure))
  for (const [index, { resolve }] of group.entries()) resolve(outcome.results[index])
}

function errorOf({ code, reason }: Failure): GatewayError {
  if (code === 'store_unavailable') return unavailable(reason)
  return code === 'store_damaged'
    ? new GatewayError(code, reason, { retryAfter: 60 })
    : new GatewayError(code, `The store refused an operation: ${reason}`)
}

const asOutcome = (error: Error): Outcome => ({ unavailable: error.message })

const unavailable = (sentence: string) => new GatewayError('store_unavailable', sentence, { retryAfter: 1 })

const refuse = (closed: boolean) =>
  Promise.reject(unavailable(closed ? 'The store is closed.' : 'Too many writes are waiting.'))
