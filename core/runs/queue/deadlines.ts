// Ends queued runs whose time limit is reached while they wait for their next attempt.
import type { Log } from '../../plugin/plugin.ts'
import { createPoller, type Poller } from '../../store/poller.ts'
import type { Store } from '../../store/store.ts'
import type { Completion } from './completion.ts'

interface DeadlinesDeps {
  store: Pick<Store, 'listOverdueRuns'>
  completion: Pick<Completion, 'endOverdue'>
  onEnded(count: number): void
  retryMs: number
  log: Log
}

/** `notify` when runs with a deadline may have returned to the queue, here or in another gateway. */
export function createDeadlines(deps: DeadlinesDeps): Pick<Poller, 'notify' | 'close'> {
  const { store, completion, onEnded, retryMs, log } = deps
  const endOverdue = async (): Promise<void> => {
    // Before the store is read: what is due by then is found there, and the rest later.
    const now = Date.now()
    const { ids, nextAt } = await store.listOverdueRuns(now)
    let ended = 0
    for (const id of ids) if (await completion.endOverdue(id)) ended++
    if (ended > 0) onEnded(ended)
    if (nextAt !== undefined) poller.notifyIn(nextAt - now)
  }
  const poller = createPoller({ claim: endOverdue, retryMs, log })
  return poller
}
