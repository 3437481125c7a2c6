// Keeps the runs of a shared store moving: looks for work when another gateway has queued or ended a run, and now and
// then, because messages may be lost; stops what another gateway has cancelled.
import { catchUp, type Replicas } from '../../store/replicas.ts'
import { workTopics } from '../../store/commits/work-messages.ts'
import type { RunClaims } from './claims.ts'
import type { Waiters } from './waiters.ts'

export interface SharedRuns {
  start(): void
  close(): void
}

interface SharedRunsDeps {
  replicas: Replicas
  claims: Pick<RunClaims, 'notify' | 'notifyRetries'>
  waiters: Pick<Waiters, 'recheck'>
  /** Called with a run that was cancelled by way of another gateway. */
  onCancelled(id: string): void
}

const pollMs = 2_000

export function createSharedRuns({ replicas, claims, waiters, onCancelled }: SharedRunsDeps): SharedRuns {
  let timer: NodeJS.Timeout | undefined

  const poll = (): void => {
    claims.notifyRetries()
    waiters.recheck()
  }

  return {
    start: () => {
      replicas.subscribe(workTopics.runs, claims.notify)
      replicas.subscribe(workTopics.cancelled, onCancelled)
      replicas.subscribe(workTopics.ended, waiters.recheck)
      replicas.subscribe(catchUp, poll)
      timer = setInterval(poll, pollMs).unref()
    },
    close: () => clearInterval(timer),
  }
}
