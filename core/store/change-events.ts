// Tells what has been stored: a store around a store, so that whatever changes a run, a delivery, an event or the log
// of requests is heard of.
import { acceptedResult, refusedResult } from './operations/requests.ts'
import { createFeed, type Feed } from './feed.ts'
import type {
  AcceptCommand,
  AcceptResult,
  RequestSummary,
  NewDelivery,
  NewRun,
  RunEnd,
  Store,
  StoredEvent,
  StoredDelivery,
  StoredRun,
  Timestamp,
} from './store.ts'

export type RequestChange = Omit<RequestSummary, 'seq'>
export type DeliveryChange = Omit<StoredDelivery, 'seq'>
export interface RunChange {
  run: Omit<StoredRun, 'seq'>
  deliveries: readonly DeliveryChange[]
}

export interface StoreChanges {
  requests: Feed<RequestChange>
  events: Feed<StoredEvent>
  runs: Feed<RunChange>
  /** What becomes of deliveries. */
  outbox: Feed<DeliveryChange>
}

/** The same store, and what it lets be heard. */
export function withChangeEvents(store: Store): { store: Store; changes: StoreChanges } {
  const changes: StoreChanges = {
    requests: createFeed(),
    events: createFeed(),
    runs: createFeed(),
    outbox: createFeed(),
  }
  return {
    changes,
    store: { ...store, ...arrivals(store, changes), ...runChanges(store, changes), ...deliveryChanges(store, changes) },
  }
}

function arrivals(store: Store, changes: StoreChanges): Pick<Store, 'accept' | 'recordRefusal'> {
  const feeds = Object.values(changes) as readonly Pick<Feed<unknown>, 'hasSubscribers'>[]
  return {
    // Where nobody listens, nobody waits for the telling either.
    accept: (command) => {
      const stored = store.accept(command)
      return feeds.some((feed) => feed.hasSubscribers())
        ? stored.then((result) => publishOutcome(changes, command, result))
        : stored
    },
    recordRefusal: async (refusal, at) => {
      await store.recordRefusal(refusal, at)
      const { id, hook, client, status } = refusal
      changes.requests.publish({ id, at, hook, client, status, result: refusedResult(refusal) })
    },
  }
}

function publishOutcome(changes: StoreChanges, command: AcceptCommand, result: AcceptResult): AcceptResult {
  if (result.outcome === 'accepted') publishAccepted(changes, command)
  return result
}

function publishAccepted(changes: StoreChanges, command: AcceptCommand): void {
  const { at, request, runs = [], events = [], deliveries = [] } = command
  if (request) {
    const { id, hook, client } = request
    changes.requests.publish({ id, at, hook, client, status: 'accepted', result: acceptedResult(request, command) })
  }
  for (const event of events) changes.events.publish({ ...event, at })
  for (const run of runs) changes.runs.publish({ run: queued(run, at), deliveries: [] })
  for (const delivery of deliveries) changes.outbox.publish(fresh(delivery, at))
}

/** A run, and a delivery, as they are stored first. */
const queued = (run: NewRun, at: Timestamp): RunChange['run'] => ({
  ...run,
  ...untried,
  status: 'queued',
  result: {},
  createdAt: at,
  startedAt: null,
  endedAt: null,
})
const fresh = (delivery: NewDelivery, at: Timestamp): DeliveryChange => ({
  ...delivery,
  ...untried,
  chunksSent: 0,
  uncertain: false,
  platformId: null,
  nextAt: at,
  createdAt: at,
})
const untried = { attempt: 0, fencingToken: 0 }

function runChanges(
  store: Store,
  { runs, events, outbox }: StoreChanges,
): Pick<Store, 'claimRuns' | 'endRun' | 'releaseRun' | 'retryRun' | 'cancelQueuedRun'> {
  const publishRun = createReread(runs, async (id) => {
    const [run, deliveries] = await Promise.all([store.getRun(id), store.listRunDeliveries(id)])
    return run && { run, deliveries }
  })
  const publishDelivery = createReread(outbox, (id) => store.getDelivery(id))
  const tellEnd = async (id: string, end: RunEnd): Promise<void> => {
    await publishRun(id)
    for (const event of end.events) events.publish({ ...event, at: end.at })
    for (const delivery of end.deliveries) outbox.publish(fresh(delivery, end.at))
    if (end.alert) await publishDelivery(end.alert.delivery.id)
  }
  return {
    claimRuns: async (claim) => {
      const claimed = await store.claimRuns(claim)
      for (const run of claimed) runs.publish({ run, deliveries: [] })
      return claimed
    },
    endRun: async (run, end) => {
      const ended = await store.endRun(run, end)
      if (ended) await tellEnd(run.id, end)
      return ended
    },
    releaseRun: async (run, retry) => {
      const released = await store.releaseRun(run, retry)
      if (released) await publishRun(run.id)
      return released
    },
    retryRun: async (id, retry) => {
      const retried = await store.retryRun(id, retry)
      if (retried) await Promise.all([publishRun(retry.id), publishRun(id)])
      return retried
    },
    cancelQueuedRun: async (id, end) => {
      const cancelled = await store.cancelQueuedRun(id, end)
      if (cancelled) await tellEnd(id, end)
      return cancelled
    },
  }
}

function deliveryChanges(store: Store, { outbox }: StoreChanges): Pick<Store, 'endDelivery' | 'retryDelivery'> {
  const publishDelivery = createReread(outbox, (id) => store.getDelivery(id))
  return {
    endDelivery: async (...call) => {
      const ended = await store.endDelivery(...call)
      if (ended) await publishDelivery(call[0])
      return ended
    },
    retryDelivery: async (id, at) => {
      const retried = await store.retryDelivery(id, at)
      if (retried) await publishDelivery(id)
      return retried
    },
  }
}

/**
 * Whoever makes these changes holds little more than an id, so what is told is read again, before the next change can
 * be made and told.
 */
function createReread<Change>(
  feed: Feed<Change>,
  read: (id: string) => Promise<Change | undefined>,
): (id: string) => Promise<void> {
  return async (id) => {
    if (!feed.hasSubscribers()) return
    // The change itself is on disk: where the store cannot read it again, only this news is lost.
    const change = await read(id).catch(() => undefined)
    if (change !== undefined) feed.publish(change)
  }
}
