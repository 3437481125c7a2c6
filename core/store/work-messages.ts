// Tells the other gateways on a shared store that there is work, and which runs have ended.
import type { Replicas } from './replicas.ts'
import type { AcceptCommand, Store } from './store.ts'

/** What a gateway tells the others: the topics, and their messages. */
export const workTopics = {
  /** A run is queued, or there is room for one. The message is null. */
  runs: 'runs',
  /** A run has ended. The message is its id. */
  ended: 'run ended',
  /** A delivery can be sent. The message is null. */
  outbox: 'outbox',
} as const

type Work = Pick<
  Store,
  'accept' | 'endRun' | 'releaseRun' | 'retryRun' | 'cancelQueuedRun' | 'endDelivery' | 'retryDelivery'
>

export function withWorkMessages(store: Work, { publish }: Pick<Replicas, 'publish'>): Work {
  const tellQueued = (): void => publish(workTopics.runs, null)
  const tellOutbox = (): void => publish(workTopics.outbox, null)
  const tellEnded = (id: string): void => {
    publish(workTopics.ended, id)
    tellQueued()
  }
  const tellAccepted = ({ runs = [], deliveries = [] }: AcceptCommand): void => {
    if (runs.length > 0) tellQueued()
    if (deliveries.length > 0) tellOutbox()
  }
  return {
    accept: async (command) => {
      const result = await store.accept(command)
      if (result.outcome === 'accepted') tellAccepted(command)
      return result
    },
    endRun: async (run, end) => {
      const isEnded = await store.endRun(run, end)
      if (isEnded) tellEnded(run.id)
      if (isEnded && (end.deliveries.length > 0 || end.alert)) tellOutbox()
      return isEnded
    },
    releaseRun: async (run, retry) => {
      const isReleased = await store.releaseRun(run, retry)
      if (isReleased) tellQueued()
      return isReleased
    },
    retryRun: async (id, retry) => {
      const isRetried = await store.retryRun(id, retry)
      if (isRetried) tellQueued()
      return isRetried
    },
    cancelQueuedRun: async (id, end) => {
      const isCancelled = await store.cancelQueuedRun(id, end)
      if (isCancelled) tellEnded(id)
      if (isCancelled && end.deliveries.length > 0) tellOutbox()
      return isCancelled
    },
    endDelivery: async (...call) => {
      const isEnded = await store.endDelivery(...call)
      const [, , end] = call
      if (isEnded && end.status === 'retry') tellOutbox()
      return isEnded
    },
    retryDelivery: async (id, at) => {
      const isRetried = await store.retryDelivery(id, at)
      if (isRetried) tellOutbox()
      return isRetried
    },
  }
}
