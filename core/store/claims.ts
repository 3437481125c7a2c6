// Claiming work from the store: rung as often as anyone likes, one claim at a time, again after a failure.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin.ts'

export interface Claims {
  /** There may be something to claim. */
  ring(): void
  /** The same in `ms`; a later call replaces an earlier one. */
  ringIn(ms: number): void
  /** Resolves when no claim is under way. */
  settled(): Promise<void>
  /** Claims no more; resolves when the last claim is over. */
  close(): Promise<void>
}

interface ClaimsDeps {
  /** Takes what there is and sets it going. */
  claim(): Promise<void>
  retryMs: number
  log: Log
}

export function createClaims({ claim, retryMs, log }: ClaimsDeps): Claims {
  let claiming: Promise<void> | undefined
  let rungMeanwhile = false
  let closed = false
  let timer: NodeJS.Timeout | undefined
  const outage = createOutage(log, { failed: 'could not claim work; it is tried again', worked: 'work can be claimed again' })

  const claimAll = async (): Promise<void> => {
    try {
      do {
        rungMeanwhile = false
        await claim()
      } while (rungMeanwhile && !closed)
      outage.worked()
    } catch (error) {
      outage.failed(error)
      ringIn(retryMs)
    } finally {
      claiming = undefined
    }
  }

  const ring = (): void => {
    if (claiming) rungMeanwhile = true
    else if (!closed) claiming = claimAll()
  }

  const ringIn = (ms: number): void => {
    clearTimeout(timer)
    if (!closed) timer = setTimeout(ring, ms).unref()
  }

  return {
    ring,
    ringIn,
    settled: async () => await claiming,
    close: async () => {
      closed = true
      clearTimeout(timer)
      await claiming
    },
  }
}
