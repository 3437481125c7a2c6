// Publishes change events: wraps a store so that every committed change of a request, event, run or delivery is
// published to the subscribers of its feed.
import type { DeliveryChange, RunChange, StoreChanges } from './changes.ts'
import { createFeed, type Feed } from './feed.ts'
import { describeAccepted, describeRefused } from './operations/requests.ts'
import type { Replicas } from './replicas.ts'
import { shareChanges } from './shared-changes.ts'
import type { AcceptCommand, NewDelivery, NewRun, RunEnd, Store, Timestamp } from './store.ts'
import { withWorkMessages } from './work-messages.ts'

/** With `replicas`, changes of other gateways are published, too, and the others are notified of new work. */
export function withChangeEvents(store: Store, replicas?: Replicas): { store: Store; changes: StoreChanges } {
  if (!replicas) {
    const changes: StoreChanges = {
      requests: createFeed(),
      events: createFeed(),
      runs: createFeed(),
      outbox: createFeed(),
    }
    return { changes, store: publishChanges(store, changes) }
  }
  const { changes, own } = shareChanges({ store, replicas })
  return { changes, store: publishChanges({ ...store, ...withWorkMessages(store, replicas) }, own) }
}

const publishChanges = (store: Store, changes: StoreChanges): Store => ({
  ...store,
  ...publishRequests(store, changes),
  ...publishRuns(store, changes),
  ...publishDeliveries(store, changes),
})

function publishRequests(store: Store, changes: StoreChanges): Pick<Store, 'accept' | 'recordRefusal'> {
  return {
    accept: async (command) => {
      const result = await store.accept(command)
      if (result.outcome === 'accepted') publishAccepted(changes, command)
      return result
    },
    recordRefusal: async (refusal, at) => {
      await store.recordRefusal(refusal, at)
      const { id, hook, client, status } = refusal
      changes.requests.publish({ id, at, hook, client, status, result: describeRefused(refusal) })
    },
  }
}

function publishAccepted(changes: StoreChanges, command: AcceptCommand): void {
  const { at, request, runs, events, deliveries } = command
  publishEach(changes.requests, request && [request], (accepted) => {
    const { id, hook, client } = accepted
    return { id, at, hook, client, status: 'accepted', result: describeAccepted(accepted, command) }
  })
  publishEach(changes.events, events, (event) => ({ ...event, at }))
  publishEach(changes.runs, runs, (run) => ({ run: asQueuedRun(run, at), deliveries: [] }))
  publishEach(changes.outbox, deliveries, (delivery) => asPendingDelivery(delivery, at))
}

/** Makes the changes only if somebody watches. */
function publishEach<Item, Change>(
  feed: Feed<Change>,
  items: readonly Item[] = [],
  toChange: (item: Item) => Change,
): void {
  if (feed.hasSubscribers()) for (const item of items) feed.publish(toChange(item))
}

const asQueuedRun = (run: NewRun, at: Timestamp): RunChange['run'] => ({
  ...run,
  attempt: 0,
  fencingToken: 0,
  status: 'queued',
  result: {},
  createdAt: at,
  startedAt: null,
  endedAt: null,
})

const asPendingDelivery = (delivery: NewDelivery, at: Timestamp): DeliveryChange => ({
  ...delivery,
  file: delivery.file ?? null,
  attempt: 0,
  fencingToken: 0,
  chunksSent: 0,
  uncertain: false,
  platformId: null,
  nextAt: at,
  createdAt: at,
})

function publishRuns(
  store: Store,
  { runs, events, outbox }: StoreChanges,
): Pick<Store, 'claimRuns' | 'endRun' | 'releaseRun' | 'advanceRetries' | 'retryRun' | 'cancelQueuedRun'> {
  const publishRun = createRereadPublisher(runs, async (id) => {
    const [run, deliveries] = await Promise.all([store.getRun(id), store.listRunDeliveries(id)])
    return run && { run, deliveries }
  })
  const publishDelivery = createRereadPublisher(outbox, (id) => store.getDelivery(id))
  const publishEnd = async (id: string, end: RunEnd): Promise<void> => {
    await publishRun(id)
    for (const event of end.events) events.publish({ ...event, at: end.at })
    for (const delivery of end.deliveries) outbox.publish(asPendingDelivery(delivery, end.at))
    if (end.alert) await publishDelivery(end.alert.delivery.id)
  }
  return {
    claimRuns: async (claim) => {
      const claimed = await store.claimRuns(claim)
      for (const run of claimed) runs.publish({ run, deliveries: [] })
      return claimed
    },
    endRun: async (run, end) => {
      const isEnded = await store.endRun(run, end)
      if (isEnded) await publishEnd(run.id, end)
      return isEnded
    },
    releaseRun: async (run, retry) => {
      const isReleased = await store.releaseRun(run, retry)
      if (isReleased) await publishRun(run.id)
      return isReleased
    },
    advanceRetries: async (...call) => {
      const ids = await store.advanceRetries(...call)
      for (const id of ids) await publishRun(id)
      return ids
    },
    retryRun: async (id, retry) => {
      const isRetried = await store.retryRun(id, retry)
      if (isRetried) await Promise.all([publishRun(retry.id), publishRun(id)])
      return isRetried
    },
    cancelQueuedRun: async (id, end) => {
      const isCancelled = await store.cancelQueuedRun(id, end)
      if (isCancelled) await publishEnd(id, end)
      return isCancelled
    },
  }
}

function publishDeliveries(
  store: Store,
  { outbox, events }: StoreChanges,
): Pick<Store, 'endDelivery' | 'failDelivery' | 'retryDelivery'> {
  const publishDelivery = createRereadPublisher(outbox, (id) => store.getDelivery(id))
  return {
    endDelivery: async (...call) => {
      const [id, , end, at] = call
      const isEnded = await store.endDelivery(...call)
      if (!isEnded) return false
      await publishDelivery(id)
      if ('event' in end && end.event) events.publish({ ...end.event, at })
      return true
    },
    failDelivery: async (id, failure, at) => {
      const isFailed = await store.failDelivery(id, failure, at)
      if (!isFailed) return false
      await publishDelivery(id)
      events.publish({ ...failure.event, at })
      return true
    },
    retryDelivery: async (id, at) => {
      const isRetried = await store.retryDelivery(id, at)
      if (isRetried) await publishDelivery(id)
      return isRetried
    },
  }
}

/**
 * The callers of these operations know little more than an id, so the record is read again before it is published. The
 * caller waits for that, so that the next change of the record is published after this one.
 */
function createRereadPublisher<Change>(
  feed: Feed<Change>,
  read: (id: string) => Promise<Change | undefined>,
): (id: string) => Promise<void> {
  return async (id) => {
    if (!feed.hasSubscribers()) return
    // The change is on disk. If the record cannot be read again, only the event is lost.
    const change = await read(id).catch(() => undefined)
    if (change !== undefined) feed.publish(change)
  }
}
