// Keeps something open that lasts, such as a connection: opens it, opens it again after failures, and closes it.
import { setTimeout as delay } from 'node:timers/promises'
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
  onOpened?(): void
  /** Removes secrets from a text. */
  redact(text: string): string
  log: Log
  /** The log lines. */
  messages: Record<'opened' | 'failed' | 'lost' | 'refused' | 'closed', string>
}

export interface Supervisor<Opened> {
  /** Absent while it is not open. */
  readonly opened: Opened | undefined
  health(): Health
  /** Opens it in the background, and retries on failure. */
  open(): void
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
/** Time limit for `open`. */
const openMs = 60_000
/** Time limit for closing, so that an extension cannot delay the stop. */
const closeMs = 3_000

/** One call of `open` and what it returns. */
interface Attempt<Opened> {
  stop: AbortController
  startedAt: number
  opening: Promise<Opened>
}

export function createSupervisor<Opened extends Closable>(options: SupervisorOptions<Opened>): Supervisor<Opened> {
  const { fields, redact, log, messages } = options
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
  }

  function tryOpen(): void {
    retry = undefined
    const missing = options.findMissing?.()
    if (missing !== undefined) return setState('failing', missing)
    const stop = new AbortController()
    const attempt: Attempt<Opened> = { stop, startedAt: performance.now(), opening: callOpen(stop.signal, onLost) }
    current = attempt
    const limit = setTimeout(() => onFailed(attempt, new Error(tooSlow)), openMs).unref()
    attempt.opening
      .then(
        (result) => onOpened(attempt, result),
        (error: unknown) => onFailed(attempt, error),
      )
      .finally(() => clearTimeout(limit))

    function onLost(reason: unknown): void {
      if (current !== attempt) return
      if (!isAuthError(reason)) log.warn({ ...fields, ...describeThrown(reason) }, messages.lost)
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
    if (!outage.worked(fields)) log.info(fields, messages.opened)
    options.onOpened?.()
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
      retry = setTimeout(tryOpen, Math.max(waitMs, retryAfterMsOf(error))).unref()
      waitMs = Math.min(waitMs * 2, longestRetryMs)
    })
  }

  /** Also closes what `open` returns later. Never rejects. */
  async function end(): Promise<void> {
    clearTimeout(retry)
    const attempt = current
    ;[current, opened, retry] = [undefined, undefined, undefined]
    if (!attempt) return
    attempt.stop.abort()
    const closing = attempt.opening.then((result) => result.close())
    await Promise.race([closing, delay(closeMs, undefined, { ref: false })]).catch(() => undefined)
  }

  const mayOpen = (): boolean => !closed.signal.aborted && !isPaused && !isStandby

  function start(): void {
    waitMs = firstRetryMs
    setState('connecting')
    tryOpen()
  }

  return {
    get opened() {
      return opened
    },
    health: () => health,
    open() {
      isStandby = false
      if (mayOpen()) start()
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
        if (mayOpen()) start()
      }
    },
    async reopen() {
      await end()
      if (mayOpen() && !current) start()
    },
    signal: closed.signal,
    async close() {
      closed.abort()
      const wasOpen = opened !== undefined
      await end()
      if (wasOpen) log.info(fields, messages.closed)
    },
  }
}

const tooSlow = `it did not connect within ${openMs / 1000} seconds`

/** How long the service asks to wait. */
function retryAfterMsOf(error: unknown): number {
  const { retryAfterMs } = (error ?? {}) as { retryAfterMs?: unknown }
  return typeof retryAfterMs === 'number' ? Math.min(retryAfterMs, longestRetryAfterMs) : 0
}

/** Why it is not open, for its state. The message of an `AuthError` is written for the operator. */
function stateReason(error: unknown): string {
  if (isAuthError(error)) return error.message
  const { reason, cause } = describeThrown(error)
  // The class of an ordinary error says nothing, and its message is a sentence for the operator.
  return [reason.replace(/^Error: /, ''), cause].filter(Boolean).join('; ')
}
