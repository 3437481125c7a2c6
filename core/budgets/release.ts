// Releases runs that wait for a budget: a few at a time, oldest first, as far as the budgets allow it.
import type { Outage } from '../outage.ts'
import type { Release, Store, Timestamp, WaitingRun } from '../store/store.ts'
import { findReachedLimit, limitsOf } from './budget.ts'
import type { Counts, LiveTally } from './counts.ts'

export interface ReleaseDeps {
  store: Pick<Store, 'listWaitingRuns' | 'releaseWaitingRuns' | 'moveWaitingRuns'>
  counts(): Counts
  now(): Timestamp
  /** Of the gateways on one store, one releases runs. */
  isLeader(): boolean
  /** Called when runs may start that waited. */
  onReleased(): void
  outage: Outage
}

/** So many runs are released at a time, so that few start too early if the budget is soon used up. */
const [intervalMs, batchSize] = [250, 50]

export function createRelease({ store, counts, now, isLeader, onReleased, outage }: ReleaseDeps) {
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let underWay: Promise<void> | undefined

  function watch(): void {
    if (isClosed) return
    timer ??= setTimeout(() => {
      timer = undefined
      underWay ??= release()
        .then(() => void outage.worked(), outage.failed)
        .finally(() => (underWay = undefined))
    }, intervalMs).unref()
  }

  async function release(): Promise<void> {
    const current = counts()
    const { tallies, refresh } = current
    await refresh()
    const closed = new Set(tallies.filter((tally) => isClosedFor(current, tally)))
    const list = (after: number) =>
      store.listWaitingRuns({ after, limit: batchSize, except: Array.from(closed, ({ budget }) => budget.key) })
    let left = batchSize
    let page = await list(0)
    while (page.length > 0 && left > 0 && current === counts() && isLeader()) {
      const releases = selectRuns(current, { page, closed, limit: left })
      left -= releases.length
      if (releases.length > 0 && (await store.releaseWaitingRuns(releases, now())).length > 0) onReleased()
      page = await list(page.at(-1)?.seq ?? 0)
    }
    for (const { budget, window } of closed) await store.moveWaitingRuns({ budget: budget.key, until: window.end })
    if (page.length > 0) return watch()
    for (const tally of tallies) if (!closed.has(tally)) tally.hasWaiting = false
  }

  return {
    /** Looks for runs that wait, and again until none is left that may start. */
    watch,
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await underWay
    },
  }
}

/** Selects runs so that none overtakes an older one that waits for the same budget. Adds to the closed budgets. */
function selectRuns(
  counts: Counts,
  { page, closed, limit }: { page: readonly WaitingRun[]; closed: Set<LiveTally>; limit: number },
): Release[] {
  const releases: Release[] = []
  for (const run of page) {
    if (releases.length === limit) break
    const tallies = counts.talliesOf(run)
    // A run that has started before was counted then, so that it needs no room for another run.
    const blocking = tallies.filter((tally) =>
      run.isCounted ? isClosedFor(counts, tally, 0) : closed.has(tally) || isClosedFor(counts, tally),
    )
    for (const tally of blocking) closed.add(tally)
    if (blocking.length > 0) continue
    if (!run.isCounted) for (const tally of tallies) tally.used.runs++
    // Other gateways accept runs meanwhile.
    releases.push({ id: run.id, limits: run.isCounted ? [] : limitsOf(tallies) })
  }
  return releases
}

function isClosedFor({ enterWindow }: Counts, tally: LiveTally, runs = 1): boolean {
  enterWindow(tally)
  return findReachedLimit(tally, runs) !== undefined
}
