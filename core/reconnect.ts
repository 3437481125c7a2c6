// The supervisor of what lasts, such as a connection: opens it, opens it again after failures, and closes it.
import { withDeadline } from './deadline.ts'
import { isAuthError } from './plugin/errors.ts'
import { describeThrown } from './errors.ts'
import { createOutage } from './outage.ts'
import type { Log } from './plugin/plugin.ts'

/**
 * - `failing`: it could not be opened, or was lost. The gateway keeps trying, unless something is missing.
 * - `unauthorized`: the platform refuses the credentials. The gateway waits for a change of the configuration.
 * - `standby`: another gateway on the same store has it open.
 */
export type SupervisedState = (typeof supervisedStates)[number]
export const supervisedStates = ['connecting', 'connected', 'failing', 'unauthorized', 'standby'] as const

export interface Health<State extends string = SupervisedState> {
  state: State
  /** Since when, in Unix milliseconds. */
  since: number
  /** Why it is not open, without secrets. */
  reason?: string
}

interface Closable {
  close(): Promise<void>
}

export interface SupervisorOptions<Opened extends Closable> {
  /** Names it in the log. */
  fields: object
  /** Opens it. `lost` reports that it has ended. */
  open(attempt: { signal: AbortSignal; lost(reason: unknown): void }): Promise<Opened>
  /** Says in a sentence what is missing. Then it is not opened. */
  findMissing?(): string | undefined
  /** Called each time it has been opened. */
  onOpened?(opened: Opened): void
  /** Called each time its state, or the reason for it, may have changed. */
  onHealth?(health: Health): void
  /** Time limit for `open`: a minute unless set. */
  openMs?: number
  /** Removes secrets from a text. */
  redact?(text: string): string
  log: Log
  /** The log lines. A connection that is lost is logged as `failed` unless there is a line for it. */
  messages: Record<'opened' | 'failed' | 'refused', string> & Partial<Record<'lost' | 'closed', string>>
  /** True: that it was opened is logged only at the end of an outage. */
  isQuiet?: boolean
}

export interface Supervisor<Opened> {
  /** Absent while it is not open. */
  readonly opened: Opened | undefined
  health(): Health
  /** Opens it, and retries on failure. Resolves after the first attempt, however it ends. */
  open(): Promise<void>
  /** Closes it until `open` is called again. `reason` is a sentence. */
  standBy(reason: string): Promise<void>
  /** Keeps it closed while `work` runs, then opens it again. */
  whileClosed(work: () => Promise<void>): Promise<void>
  /** Closes it, if it is open, and opens it again. */
  reopen(): Promise<void>
  /** Aborts when it is closed. */
  signal: AbortSignal
  close(): Promise<void>
}

const firstRetryMs = 1_000
const longestRetryMs = 60_000
/** Limit for the wait that a service asks for. */
const longestRetryAfterMs = 3_600_000
/** Time limit for closing, so that an extension cannot delay the stop. */
const closeMs = 3_000

/** One call of `open` and what it returns. */
interface Attempt<Opened> {
  stop: AbortController
  startedAt: number
  opening: Promise<Opened>
}

export function createSupervisor<Opened extends Closable>(options: SupervisorOptions<Opened>): Supervisor<Opened> {
  const { fields, openMs = 60_000, redact = String, log, messages } = options
  const closed = new AbortController()
  const outage = createOutage(log, {
    level: 'warn',
    failed: messages.failed,
    worked: messages.opened,
    describe: describeThrown,
  })
  let health: Health = { state: 'connecting', since: Date.now() }
  let current: Attempt<Opened> | undefined
  let opened: Opened | undefined
  let retry: NodeJS.Timeout | undefined
  let waitMs = firstRetryMs
  let isPaused = false
  let isStandby = false

  function setState(state: SupervisedState, reason?: string): void {
    const since = state === health.state ? health.since : Date.now()
    health = { state, since, ...(reason !== undefined && { reason: redact(reason) }) }
    options.onHealth?.(health)
  }

  async function tryOpen(): Promise<void> {
    clearTimeout(retry)
    retry = undefined
    const missing = options.findMissing?.()
    if (missing !== undefined) return setState('failing', missing)
    const stop = new AbortController()
    const attempt: Attempt<Opened> = { stop, startedAt: performance.now(), opening: callOpen(stop.signal, onLost) }
    current = attempt
    const limits = { signals: [stop.signal], ms: openMs, reason: () => tooSlow('connect', openMs) }
    await withDeadline(limits, () => attempt.opening).then(
      (result) => onOpened(attempt, result),
      (error: unknown) => onFailed(attempt, error),
    )

    function onLost(reason: unknown): void {
      if (current !== attempt) return
      if (!isAuthError(reason)) log.warn({ ...fields, ...describeThrown(reason) }, messages.lost ?? messages.failed)
      leave(attempt, reason)
    }
  }

  /** Begins in the next microtask, so that `open` may call `lost` at once. */
  async function callOpen(signal: AbortSignal, lost: (reason: unknown) => void): Promise<Opened> {
    await Promise.resolve()
    return await options.open({ signal, lost })
  }

  function onOpened(attempt: Attempt<Opened>, result: Opened): void {
    if (current !== attempt) return
    opened = result
    setState('connected')
    if (!outage.worked(fields) && !options.isQuiet) log.info(fields, messages.opened)
    options.onOpened?.(result)
  }

  function onFailed(attempt: Attempt<Opened>, error: unknown): void {
    if (current !== attempt) return
    if (!isAuthError(error)) outage.failed(error, fields)
    leave(attempt, error)
  }

  /** Ends an attempt that failed or was lost. The next one waits for its end: many platforms allow one connection. */
  function leave(attempt: Attempt<Opened>, error: unknown): void {
    if (performance.now() - attempt.startedAt > longestRetryMs) waitMs = firstRetryMs
    const ended = end()
    const reason = stateReason(error)
    setState(isAuthError(error) ? 'unauthorized' : 'failing', reason)
    if (isAuthError(error)) return log.error({ ...fields, reason }, messages.refused)
    void ended.then(() => {
      if (!mayOpen() || current || retry) return
      retry = setTimeout(() => void tryOpen(), Math.max(waitMs, retryAfterMsOf(error))).unref()
      waitMs = Math.min(waitMs * 2, longestRetryMs)
    })
  }

  /** Also closes what `open` returns later. Never rejects. */
  async function end(): Promise<void> {
    clearTimeout(retry)
    const attempt = current
    const wasOpen = opened !== undefined
    ;[current, opened, retry] = [undefined, undefined, undefined]
    if (!attempt) return
    attempt.stop.abort()
    const closing = attempt.opening.then((result) => result.close())
    await withDeadline({ ms: closeMs, reason: () => tooSlow('close', closeMs) }, () => closing).catch(
      (error: unknown) => wasOpen && log.warn({ ...fields, ...describeThrown(error) }, 'an extension failed to close'),
    )
  }

  const mayOpen = (): boolean => !closed.signal.aborted && !isPaused && !isStandby

  async function start(): Promise<void> {
    if (!mayOpen() || current) return
    waitMs = firstRetryMs
    setState('connecting')
    await tryOpen()
  }

  return {
    get opened() {
      return opened
    },
    health: () => health,
    async open() {
      isStandby = false
      await start()
    },
    async standBy(reason) {
      isStandby = true
      setState('standby', reason)
      await end()
    },
    async whileClosed(work) {
      isPaused = true
      await end()
      try {
        await work()
      } finally {
        isPaused = false
        void start()
      }
    },
    async reopen() {
      await end()
      void start()
    },
    signal: closed.signal,
    async close() {
      closed.abort()
      const wasOpen = opened !== undefined
      await end()
      if (wasOpen && messages.closed !== undefined) log.info(fields, messages.closed)
    },
  }
}

const tooSlow = (verb: string, ms: number): Error => new Error(`it did not ${verb} within ${ms / 1000} seconds`)

/** How long the service asks to wait. */
function retryAfterMsOf(error: unknown): number {
  const { retryAfterMs } = (error ?? {}) as { retryAfterMs?: unknown }
  return typeof retryAfterMs === 'number' ? Math.min(retryAfterMs, longestRetryAfterMs) : 0
}

/** Why it is not open, for its state. The message of an `AuthError` is written for the operator. */
export function stateReason(error: unknown): string {
  if (isAuthError(error)) return error.message
  const { reason, cause } = describeThrown(error)
  // The class of an ordinary error says nothing, and its message is a sentence for the operator.
  return [reason.replace(/^Error: /, ''), cause].filter(Boolean).join('; ')
}
