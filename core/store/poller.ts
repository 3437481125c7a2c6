// Claiming work from the store: rung as often as anyone likes, one claim at a time, again after a failure.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin.ts'

export interface Poller {
  /** There may be something to claim. */
  notify(): void
  /** The same in `ms`; a later call replaces an earlier one. */
  notifyIn(ms: number): void
  /** Resolves when no claim is under way. */
  settled(): Promise<void>
  /** Claims no more; resolves when the last claim is over. */
  close(): Promise<void>
}

interface PollerDeps {
  /** Takes what there is and sets it going. */
  claim(): Promise<void>
  retryMs: number
  log: Log
}

export function createPoller({ claim, retryMs, log }: PollerDeps): Poller {
  let claiming: Promise<void> | undefined
  let notifiedMeanwhile = false
  let closed = false
  let timer: NodeJS.Timeout | undefined
  const outage = createOutage(log, {
    failed: 'could not claim work; it is tried again',
    worked: 'work can be claimed again',
  })

  const claimAll = async (): Promise<void> => {
    try {
      do {
        notifiedMeanwhile = false
        await claim()
      } while (notifiedMeanwhile && !closed)
      outage.worked()
    } catch (error) {
      outage.failed(error)
      notifyIn(retryMs)
    } finally {
      claiming = undefined
    }
  }

  const notify = (): void => {
    if (claiming) notifiedMeanwhile = true
    else if (!closed) claiming = claimAll()
  }

  const notifyIn = (ms: number): void => {
    clearTimeout(timer)
    if (!closed) timer = setTimeout(notify, ms).unref()
  }

  return {
    notify,
    notifyIn,
    settled: async () => await claiming,
    close: async () => {
      closed = true
      clearTimeout(timer)
      await claiming
    },
  }
}
