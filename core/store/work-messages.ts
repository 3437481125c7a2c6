// Notifies the other gateways on a shared store of new work and of runs that have ended.
import type { Feed } from './feed.ts'
import type { Replicas } from './replicas.ts'
import type { CommittedCall, RunEnd } from './store.ts'

/** The topics of these messages. */
export const workTopics = {
  /** A run is queued, or there is room for one. The message is null. */
  runs: 'runs',
  /** A run has ended. The message is its id. */
  ended: 'run ended',
  /** A delivery can be sent. The message is null. */
  outbox: 'outbox',
} as const

export function sendWorkMessages(
  commits: Pick<Feed<CommittedCall>, 'subscribe'>,
  { publish }: Pick<Replicas, 'publish'>,
): void {
  const notifyQueued = (): void => publish(workTopics.runs, null)
  const notifyOutbox = (): void => publish(workTopics.outbox, null)
  const notifyEnded = (id: string, { deliveries, alert }: RunEnd): void => {
    publish(workTopics.ended, id)
    notifyQueued()
    if (deliveries.length > 0 || alert) notifyOutbox()
  }
  commits.subscribe(({ name, args, result }) => {
    switch (name) {
      case 'accept': {
        const { runs = [], deliveries = [] } = args[0]
        if (result.outcome !== 'accepted') break
        if (runs.length > 0) notifyQueued()
        if (deliveries.length > 0) notifyOutbox()
        break
      }
      case 'endRun':
        if (result) notifyEnded(args[0].id, args[1])
        break
      case 'cancelQueuedRun':
        if (result) notifyEnded(...args)
        break
      case 'releaseRun':
      case 'retryRun':
        if (result) notifyQueued()
        break
      case 'endDelivery':
        if (result && args[2].status === 'retry') notifyOutbox()
        break
      case 'retryDelivery':
        if (result) notifyOutbox()
        break
    }
  })
}
