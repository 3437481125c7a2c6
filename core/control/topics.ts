// The topics of the WebSocket: news of the gateway, each written once as a notification however many clients listen.
import { viewRun } from '../agents/run-view.ts'
import { createFeed, type Feed } from '../store/feed.ts'
import type { News } from '../store/news.ts'
import type { StoredEvent } from '../store/store.ts'
import { viewLine } from './deliveries.ts'
import type { LogNews } from './log-news.ts'
import { iso } from './lists.ts'
import { viewMessage } from './outbox.ts'

type Receive = (frame: Buffer) => void

export interface Topics {
  names: readonly string[]
  /** Passes every notification of a topic on; returns how to leave. */
  join(topic: string, receive: Receive): () => void
}

export function createTopics(news: News, log: Feed<LogNews>): Topics {
  const topics = new Map([
    ['delivery', createTopic('delivery', news.deliveries, viewLine)],
    ['event', createTopic('event', news.events, viewEvent)],
    ['run', createTopic('run', news.runs, ({ run, messages }) => viewRun(run, messages))],
    ['outbox', createTopic('outbox', news.outbox, viewMessage)],
    ['log', createTopic('log', log, (line) => line)],
  ])
  return { names: [...topics.keys()], join: (topic, receive) => topics.get(topic)?.(receive) ?? (() => {}) }
}

/** A notification as it goes over the wire. */
export const notification = (method: string, params: object): Buffer => Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }))

/** Listens to the feed only while somebody has joined. */
function createTopic<Told>(name: string, feed: Feed<Told>, view: (told: Told) => object): (receive: Receive) => () => void {
  const joined = createFeed<Buffer>()
  let leaveFeed: (() => void) | undefined
  return (receive) => {
    const leave = joined.listen(receive)
    leaveFeed ??= feed.listen((told) => joined.tell(notification(name, view(told))))
    return () => {
      leave()
      if (joined.isHeard()) return
      leaveFeed?.()
      leaveFeed = undefined
    }
  }
}

function viewEvent({ id, sessionKey, text, mode, at }: StoredEvent): object {
  return { id, sessionKey, text, mode, at: iso(at) }
}
