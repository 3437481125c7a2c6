// Keeps the runs of a shared store moving: looks for work when another gateway has queued or ended a run, and now and
// then, because messages may be lost.
import type { ChangeMessage } from '../../store/forward-changes.ts'
import type { Replicas } from '../../store/replicas.ts'
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
}

const pollMs = 2_000

export function createSharedRuns({ replicas, claims, waiters }: SharedRunsDeps): SharedRuns {
  let timer: NodeJS.Timeout | undefined

  const poll = (): void => {
    claims.notifyRetries()
    waiters.recheck()
  }

  /** A run that has ended leaves room for the next one of its session, or under the limit of concurrent runs. */
  const onChange = ({ id, status }: ChangeMessage): void => {
    if (status === 'running') return
    claims.notify()
    if (status !== 'queued') waiters.recheck(id)
  }

  return {
    start: () => {
      replicas.subscribe('run', (message) => onChange(message as unknown as ChangeMessage))
      replicas.subscribe('catch-up', poll)
      timer = setInterval(poll, pollMs).unref()
    },
    close: () => clearInterval(timer),
  }
}
