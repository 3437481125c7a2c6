// A poller claims work from the store: on each notification, one claim at a time, and again after a failure.
import { setTimeout as delay } from 'node:timers/promises'
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'

export interface Poller {
  /** Claims work now, or once more after the claim that is under way. */
  notify(): void
  /** Notifies in `ms`. A later call replaces an earlier one. */
  notifyIn(ms: number): void
  /** Resolves when no claim is under way. */
  settled(): Promise<void>
  /** Stops claiming. Resolves when the last claim has ended. */
  close(): Promise<void>
}

interface PollerDeps {
  /** Claims the available work and starts it. @returns false if there was none */
  claim(): Promise<boolean | void>
  retryMs: number
  /** How long the poller pauses after a claim that found nothing. */
  pauseMs?: number
  log: Log
}

export function createPoller({ claim, retryMs, pauseMs = 0, log }: PollerDeps): Poller {
  let claiming: Promise<void> | undefined
  let isNotifiedAgain = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const outage = createOutage(log, {
    failed: 'could not claim work; it is tried again',
    worked: 'work can be claimed again',
  })

  const claimAll = async (): Promise<void> => {
    try {
      do {
        isNotifiedAgain = false
        const hasFound = await claim()
        if (hasFound === false && pauseMs > 0) await delay(pauseMs)
      } while (isNotifiedAgain && !isClosed)
      outage.worked()
    } catch (error) {
      outage.failed(error)
      notifyIn(retryMs)
    } finally {
      claiming = undefined
    }
  }

  const notify = (): void => {
    if (claiming) isNotifiedAgain = true
    else if (!isClosed) claiming = claimAll()
  }

  const notifyIn = (ms: number): void => {
    clearTimeout(timer)
    if (!isClosed) timer = setTimeout(notify, ms).unref()
  }

  return {
    notify,
    notifyIn,
    settled: async () => await claiming,
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await claiming
    },
  }
}
