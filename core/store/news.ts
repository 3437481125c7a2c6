// Tells what has been stored: a store around a store, so that whatever changes a run, a message, an event or the log of deliveries is heard of.
import { acceptedResult, refusedResult } from './deliveries.ts'
import { createFeed, type Feed } from './feed.ts'
import type { AcceptCommand, AcceptResult, DeliveryLine, NewMessage, NewRun, RunEnd, Store, StoredEvent, StoredMessage, StoredRun, Timestamp } from './store.ts'

export type DeliveryNews = Omit<DeliveryLine, 'seq'>
export type MessageNews = Omit<StoredMessage, 'seq'>
export interface RunNews {
  run: Omit<StoredRun, 'seq'>
  messages: readonly MessageNews[]
}

export interface News {
  deliveries: Feed<DeliveryNews>
  events: Feed<StoredEvent>
  runs: Feed<RunNews>
  /** What becomes of messages. */
  outbox: Feed<MessageNews>
}

/** The same store, and what it lets be heard. */
export function withNews(store: Store): { store: Store; news: News } {
  const news: News = { deliveries: createFeed(), events: createFeed(), runs: createFeed(), outbox: createFeed() }
  return { news, store: { ...store, ...arrivals(store, news), ...runChanges(store, news), ...messageChanges(store, news) } }
}

function arrivals(store: Store, news: News): Pick<Store, 'accept' | 'recordRefusal'> {
  const feeds = Object.values(news) as readonly Pick<Feed<unknown>, 'isHeard'>[]
  return {
    // Where nobody listens, nobody waits for the telling either.
    accept: (command) => {
      const stored = store.accept(command)
      return feeds.some((feed) => feed.isHeard()) ? stored.then((result) => tellOutcome(news, command, result)) : stored
    },
    recordRefusal: async (refusal, at) => {
      await store.recordRefusal(refusal, at)
      const { id, hook, client, status } = refusal
      news.deliveries.tell({ id, at, hook, client, status, result: refusedResult(refusal) })
    },
  }
}

function tellOutcome(news: News, command: AcceptCommand, result: AcceptResult): AcceptResult {
  if (result.outcome === 'accepted') tellAccepted(news, command)
  return result
}

function tellAccepted(news: News, command: AcceptCommand): void {
  const { at, delivery, runs = [], events = [], messages = [] } = command
  if (delivery) {
    const { id, hook, client } = delivery
    news.deliveries.tell({ id, at, hook, client, status: 'accepted', result: acceptedResult(delivery, command) })
  }
  for (const event of events) news.events.tell({ ...event, at })
  for (const run of runs) news.runs.tell({ run: queued(run, at), messages: [] })
  for (const message of messages) news.outbox.tell(fresh(message, at))
}

/** A run, and a message, as they are stored first. */
const queued = (run: NewRun, at: Timestamp): RunNews['run'] => ({
  ...run,
  ...untried,
  status: 'queued',
  result: {},
  createdAt: at,
  startedAt: null,
  endedAt: null,
})
const fresh = (message: NewMessage, at: Timestamp): MessageNews => ({
  ...message,
  ...untried,
  chunksSent: 0,
  uncertain: false,
  platformId: null,
  nextAt: at,
  createdAt: at,
})
const untried = { attempt: 0, fence: 0 }

function runChanges(store: Store, { runs, events, outbox }: News): Pick<Store, 'claimRuns' | 'endRun' | 'releaseRun' | 'retryRun' | 'cancelQueuedRun'> {
  const tellRun = createReread(runs, async (id) => {
    const [run, messages] = await Promise.all([store.getRun(id), store.messagesOfRun(id)])
    return run && { run, messages }
  })
  const tellMessage = createReread(outbox, (id) => store.getMessage(id))
  const tellEnd = async (id: string, end: RunEnd): Promise<void> => {
    await tellRun(id)
    for (const event of end.events) events.tell({ ...event, at: end.at })
    for (const message of end.messages) outbox.tell(fresh(message, end.at))
    if (end.alert) await tellMessage(end.alert.message.id)
  }
  return {
    claimRuns: async (claim) => {
      const claimed = await store.claimRuns(claim)
      for (const run of claimed) runs.tell({ run, messages: [] })
      return claimed
    },
    endRun: async (run, end) => {
      const ended = await store.endRun(run, end)
      if (ended) await tellEnd(run.id, end)
      return ended
    },
    releaseRun: async (run, retry) => {
      const released = await store.releaseRun(run, retry)
      if (released) await tellRun(run.id)
      return released
    },
    retryRun: async (id, retry) => {
      const retried = await store.retryRun(id, retry)
      if (retried) await Promise.all([tellRun(retry.id), tellRun(id)])
      return retried
    },
    cancelQueuedRun: async (id, end) => {
      const cancelled = await store.cancelQueuedRun(id, end)
      if (cancelled) await tellEnd(id, end)
      return cancelled
    },
  }
}

function messageChanges(store: Store, { outbox }: News): Pick<Store, 'endMessage' | 'retryMessage'> {
  const tellMessage = createReread(outbox, (id) => store.getMessage(id))
  return {
    endMessage: async (...call) => {
      const ended = await store.endMessage(...call)
      if (ended) await tellMessage(call[0])
      return ended
    },
    retryMessage: async (id, at) => {
      const retried = await store.retryMessage(id, at)
      if (retried) await tellMessage(id)
      return retried
    },
  }
}

/** Whoever makes these changes holds little more than an id, so what is told is read again, before the next change can be made and told. */
function createReread<Told>(feed: Feed<Told>, read: (id: string) => Promise<Told | undefined>): (id: string) => Promise<void> {
  return async (id) => {
    if (!feed.isHeard()) return
    // The change itself is on disk: where the store cannot read it again, only this news is lost.
    const told = await read(id).catch(() => undefined)
    if (told !== undefined) feed.tell(told)
  }
}
