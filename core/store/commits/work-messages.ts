// Notifies the other gateways on a shared store of new work and of runs that have ended.
import { type CommitHandlers, type Commits, handleCommit } from './commits.ts'
import { Type } from '../../typebox.ts'
import type { Replicas, Topic } from '../replicas.ts'
import type { RunEnd } from '../store.ts'

/** The topics of these messages. */
export const workTopics = {
  /** A run is queued, or there is room for one. */
  runs: { name: 'runs', item: Type.Null() },
  /** A running run was cancelled. The message is its id. */
  cancelled: { name: 'run cancelled', item: Type.String() },
  /** A run has ended. The message is its id. */
  ended: { name: 'run ended', item: Type.String() },
  /** An approval was answered. The message is its id. */
  answered: { name: 'approval answered', item: Type.String() },
  /** A delivery can be sent. */
  outbox: { name: 'outbox', item: Type.Null() },
} satisfies Record<string, Topic>

export function sendWorkMessages(commits: Pick<Commits, 'subscribe'>, { publish }: Pick<Replicas, 'publish'>): void {
  const notifyQueued = (): void => publish(workTopics.runs, null)
  const notifyOutbox = (): void => publish(workTopics.outbox, null)
  const notifyEnded = (id: string, { deliveries, alert, notices = [] }: RunEnd): void => {
    publish(workTopics.ended, id)
    notifyQueued()
    if (deliveries.length > 0 || alert || notices.length > 0) notifyOutbox()
  }
  const handlers: CommitHandlers<unknown> = {
    accept: ({ args: [{ runs = [], deliveries = [] }], result: { outcome } }) => {
      if (outcome !== 'accepted') return
      if (runs.length > 0) notifyQueued()
      if (deliveries.length > 0) notifyOutbox()
    },
    endRun: ({ args: [{ id }, end], result: isEnded }) => isEnded && notifyEnded(id, end),
    cancelRunningRun: ({ args: [id], result: isCancelled }) => isCancelled && publish(workTopics.cancelled, id),
    endQueuedRun: ({ args: [id, end], result: isCancelled }) => isCancelled && notifyEnded(id, end),
    releaseRun: ({ result: isReleased }) => isReleased && notifyQueued(),
    // There is room for another run now, or this one goes on.
    suspendRun: ({ result: status }) => status && notifyQueued(),
    recordSteps: ({ args: [, { asked }], result: isStored }) => isStored && asked?.deliveries.length && notifyOutbox(),
    createApproval: ({ args: [{ deliveries }] }) => deliveries.length > 0 && notifyOutbox(),
    answerApproval: ({ args: [id, { deliveries }], result: isAnswered }) => {
      if (!isAnswered) return
      publish(workTopics.answered, id)
      notifyQueued()
      if (deliveries.length > 0) notifyOutbox()
    },
    retryRun: ({ result: isRetried }) => isRetried && notifyQueued(),
    endDelivery: ({ args: [, , { status }], result: isEnded }) => isEnded && status === 'retry' && notifyOutbox(),
    retryDelivery: ({ result: isRetried }) => isRetried && notifyOutbox(),
  }
  commits.subscribe((call) => void handleCommit(handlers, call))
}
