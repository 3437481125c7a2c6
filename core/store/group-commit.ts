// Group commit: collects calls into groups, sends each group to the engine, settles every call with its own answer, and
// publishes those that were committed.
import { GatewayError } from '../errors.ts'
import type { CommittedCall, Commits } from './commits/commits.ts'
import type { StoreCall } from './operations.ts'

export type FailureCode = 'internal_error' | 'store_unavailable' | 'store_damaged'

export interface CallFailure {
  code: FailureCode
  reason: string
}

/**
 * The results of a group's calls, in order, and the failures by the index of their call; or the reason why nothing of
 * the group was committed.
 */
export type GroupOutcome =
  | { results: readonly unknown[]; failures: ReadonlyMap<number, CallFailure> }
  | { unavailable: string }

export interface Limits {
  /** A group of this size is sent at once; a smaller group is sent at the end of the event loop's turn. */
  groupSize: number
  /** At this number of unanswered calls, new work is refused. Calls for work that was accepted earlier are not. */
  maxCallsForNewWork: number
  /** At this number of unanswered calls, every call is refused. */
  maxCalls: number
  /** At this number of characters in unanswered new work, new work is refused. */
  maxCharacters: number
  deadlineMs: number
}

export const defaultLimits: Limits = {
  groupSize: 32,
  maxCallsForNewWork: 2000,
  maxCalls: 4000,
  maxCharacters: 64 * 1024 * 1024,
  deadlineMs: 5000,
}

/** With this many groups under way the engine is busy, so that only full groups are sent. */
const busyGroups = 2

export interface GroupCommit {
  /** Resolves with the call's result when it is on disk. */
  call(call: StoreCall): Promise<unknown>
  /** The same for new work: refused when too much is waiting, and rejected after `deadlineMs` without an answer. */
  callWithDeadline(call: StoreCall, characters: number): Promise<unknown>
  /** Refuses further calls and waits until all earlier ones are settled. */
  close(): Promise<void>
}

interface PendingCall {
  call: StoreCall
  calledAt: number
  characters: number
  /** When the call is given up, in monotonic milliseconds. Infinity: never. */
  deadline: number
  resolve: (result: unknown) => void
  reject: (error: GatewayError) => void
}

interface SentGroup {
  calls: readonly PendingCall[]
  done: Promise<void>
}

interface GroupCommitOptions {
  commits?: Pick<Commits, 'publish'>
  limits?: Limits
}

export function createGroupCommit(
  commit: (calls: readonly StoreCall[]) => Promise<GroupOutcome>,
  { commits, limits = defaultLimits }: GroupCommitOptions = {},
): GroupCommit {
  let collected: PendingCall[] = []
  /**
   * Not a Map: V8 keeps what a busy Map has held until a full garbage collection, once one of its tables is old. That
   * took a quarter of the throughput in one process of six.
   */
  let sent: SentGroup[] = []
  let unanswered = 0
  let characters = 0
  let nextSend: NodeJS.Immediate | undefined
  /** One timer for all calls: a timer for each would cost 5 % of the CPU time of an agent request. */
  let nextDeadline: NodeJS.Timeout | undefined
  let isClosed = false

  function enqueue(call: StoreCall, size: number, deadline = Infinity): Promise<unknown> {
    unanswered++
    characters += size
    return new Promise((resolve, reject) => {
      collected.push({ call, calledAt: performance.now(), characters: size, deadline, resolve, reject })
      if (collected.length >= limits.groupSize) send()
      else sendSoon()
    })
  }

  function sendSoon(): void {
    if (sent.length < busyGroups) nextSend ??= setImmediate(send)
  }

  function send(): void {
    clearImmediate(nextSend)
    nextSend = undefined
    if (collected.length === 0) return
    const group = collected
    collected = []
    const done = commitGroup(group).finally(() => {
      sent = sent.filter(({ calls }) => calls !== group)
      if (collected.length > 0) sendSoon()
    })
    sent.push({ calls: group, done })
  }

  async function commitGroup(group: readonly PendingCall[]): Promise<void> {
    settleGroup(group, await commit(group.map(({ call }) => call)).catch(asOutcome), commits)
    unanswered -= group.length
    for (const { characters: size } of group) characters -= size
  }

  /** A call that is given up is committed all the same. As after any lost answer, its key makes a repeat safe. */
  function giveUpLateCalls(): void {
    const now = performance.now()
    const pending = [...sent.flatMap(({ calls }) => calls), ...collected]
    for (const { deadline, reject } of pending)
      if (deadline <= now) reject(unavailable('The store did not answer in time.'))
    const next = pending.reduce((least, { deadline }) => (deadline > now ? Math.min(least, deadline) : least), Infinity)
    nextDeadline = next === Infinity ? undefined : setTimeout(giveUpLateCalls, next - now)
  }

  return {
    call: (call) => (isClosed || unanswered >= limits.maxCalls ? refuse(isClosed) : enqueue(call, 0)),
    callWithDeadline: (call, size) => {
      if (isClosed || unanswered >= limits.maxCallsForNewWork || characters >= limits.maxCharacters)
        return refuse(isClosed)
      nextDeadline ??= setTimeout(giveUpLateCalls, limits.deadlineMs)
      return enqueue(call, size, performance.now() + limits.deadlineMs)
    },
    async close() {
      isClosed = true
      send()
      await Promise.all(sent.map(({ done }) => done))
      clearTimeout(nextDeadline)
    },
  }
}

function settleGroup(
  group: readonly PendingCall[],
  outcome: GroupOutcome,
  commits: GroupCommitOptions['commits'],
): void {
  const now = performance.now()
  for (const [index, { call, calledAt, resolve, reject }] of group.entries()) {
    if ('unavailable' in outcome) {
      reject(unavailable(outcome.unavailable))
      continue
    }
    const failure = outcome.failures.get(index)
    if (failure) {
      reject(toError(failure))
      continue
    }
    const result = outcome.results[index]
    const [name, args] = call
    commits?.publish({ name, args, result, ms: now - calledAt } as CommittedCall)
    resolve(result)
  }
}

function toError({ code, reason }: CallFailure): GatewayError {
  if (code === 'store_unavailable') return unavailable(reason)
  return code === 'store_damaged'
    ? new GatewayError(code, reason, { retryAfter: 60 })
    : new GatewayError(code, `The store refused an operation: ${reason}`)
}

const asOutcome = (error: Error): GroupOutcome => ({ unavailable: error.message })

const unavailable = (sentence: string) => new GatewayError('store_unavailable', sentence, { retryAfter: 1 })

const refuse = (isClosed: boolean) =>
  Promise.reject(unavailable(isClosed ? 'The store is closed.' : 'Too many writes are waiting.'))
