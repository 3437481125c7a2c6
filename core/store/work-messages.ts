// Notifies the other gateways on a shared store of new work and of runs that have ended.
import { Type } from '../typebox.ts'
import type { Replicas, Topic } from './replicas.ts'
import type { AcceptCommand, Store } from './store.ts'

/** The topics of these messages. */
export const workTopics = {
  /** A run is queued, or there is room for one. */
  runs: { name: 'runs', item: Type.Null() },
  /** A run has ended. The message is its id. */
  ended: { name: 'run ended', item: Type.String() },
  /** A delivery can be sent. */
  outbox: { name: 'outbox', item: Type.Null() },
} satisfies Record<string, Topic>

type Work = Pick<
  Store,
  'accept' | 'endRun' | 'releaseRun' | 'retryRun' | 'cancelQueuedRun' | 'endDelivery' | 'retryDelivery'
>

export function withWorkMessages(store: Work, { publish }: Pick<Replicas, 'publish'>): Work {
  const notifyQueued = (): void => publish(workTopics.runs, null)
  const notifyOutbox = (): void => publish(workTopics.outbox, null)
  const notifyEnded = (id: string): void => {
    publish(workTopics.ended, id)
    notifyQueued()
  }
  const notifyAccepted = ({ runs = [], deliveries = [] }: AcceptCommand): void => {
    if (runs.length > 0) notifyQueued()
    if (deliveries.length > 0) notifyOutbox()
  }
  return {
    accept: async (command) => {
      const result = await store.accept(command)
      if (result.outcome === 'accepted') notifyAccepted(command)
      return result
    },
    endRun: async (run, end) => {
      const isEnded = await store.endRun(run, end)
      if (isEnded) notifyEnded(run.id)
      if (isEnded && (end.deliveries.length > 0 || end.alert)) notifyOutbox()
      return isEnded
    },
    releaseRun: async (run, retry) => {
      const isReleased = await store.releaseRun(run, retry)
      if (isReleased) notifyQueued()
      return isReleased
    },
    retryRun: async (id, retry) => {
      const isRetried = await store.retryRun(id, retry)
      if (isRetried) notifyQueued()
      return isRetried
    },
    cancelQueuedRun: async (id, end) => {
      const isCancelled = await store.cancelQueuedRun(id, end)
      if (isCancelled) notifyEnded(id)
      if (isCancelled && end.deliveries.length > 0) notifyOutbox()
      return isCancelled
    },
    endDelivery: async (...call) => {
      const isEnded = await store.endDelivery(...call)
      const [, , end] = call
      if (isEnded && end.status === 'retry') notifyOutbox()
      return isEnded
    },
    retryDelivery: async (id, at) => {
      const isRetried = await store.retryDelivery(id, at)
      if (isRetried) notifyOutbox()
      return isRetried
    },
  }
}
