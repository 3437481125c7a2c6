// Claims queued runs from the store and starts them, up to the limit of concurrent runs.
import type { Log } from '../../plugin/plugin.ts'
import { createPoller } from '../../store/poller.ts'
import type { Store } from '../../store/store.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { QueueLimit } from './queue-limit.ts'

export interface RunClaims {
  /** Claims runs soon, because some may be waiting. */
  notify(): void
  /** Claims runs soon, and again when the next retry is due. */
  notifyRetries(): void
  /** Resolves when no claim is under way. */
  settled(): Promise<void>
  close(): Promise<void>
}

interface RunClaimsDeps {
  store: Pick<Store, 'claimRuns' | 'releaseUnheldRuns' | 'getNextRetryAt'>
  owner: string
  active: ActiveRuns
  queue: QueueLimit
  maxConcurrent: () => number
  /** True: the limit of concurrent runs counts the runs of other gateways, too. */
  isShared: boolean
  leaseMs: number
  retryMs: number
  log: Log
}

const emptyClaimPauseMs = 50

export function createRunClaims(deps: RunClaimsDeps): RunClaims {
  const { store, owner, active, queue, maxConcurrent, isShared, leaseMs, retryMs, log } = deps
  /** True after a claim without an answer: the store may hold runs in our name that we never started. */
  let isClaimUncertain = false

  const claim = async (): Promise<boolean> => {
    const max = maxConcurrent() - active.count()
    if (max <= 0) return true
    if (isClaimUncertain) queue.add(await store.releaseUnheldRuns(owner, active.ids()))
    isClaimUncertain = true
    const sentAt = performance.now()
    const claimed = await store.claimRuns({
      owner,
      max,
      at: Date.now(),
      leaseMs,
      ...(isShared && { maxRunning: maxConcurrent() }),
    })
    isClaimUncertain = false
    queue.add(-claimed.length)
    for (const run of claimed) active.start(run, sentAt)
    return claimed.length > 0
  }
  // Every accept of any gateway asks for a claim, and claims of a database exclude each other.
  const poller = createPoller({ claim, retryMs, pauseMs: isShared ? emptyClaimPauseMs : 0, log })

  const claimDueRetries = async (): Promise<void> => {
    // Before the claim reads the clock: what is due by then is claimed, and everything else is found here.
    const now = Date.now()
    poller.notify()
    const next = await store.getNextRetryAt(now)
    if (next !== undefined) retries.notifyIn(next - now)
  }
  const retries = createPoller({ claim: claimDueRetries, retryMs, log })

  return {
    notify: poller.notify,
    notifyRetries: retries.notify,
    settled: poller.settled,
    close: async () => {
      await Promise.all([poller.close(), retries.close()])
    },
  }
}
