// The topics of the WebSocket: news of the gateway, each written once as a notification however many clients listen.
import { viewRun } from '../../runs/run-view.ts'
import { createFeed, type Feed } from '../../store/feed.ts'
import type { StoreChanges } from '../../store/change-events.ts'
import type { StoredEvent } from '../../store/store.ts'
import { viewRequest } from '../requests.ts'
import type { LogRecord } from './log-stream.ts'
import { iso } from '../lists.ts'
import { viewDelivery } from '../outbox.ts'

type Receive = (frame: Buffer) => void

export interface Topics {
  names: readonly string[]
  /** Passes every notification of a topic on; returns how to leave. */
  join(topic: string, receive: Receive): () => void
}

export function createTopics(changes: StoreChanges, log: Feed<LogRecord>): Topics {
  const topics = new Map([
    ['request', createTopic('request', changes.requests, viewRequest)],
    ['event', createTopic('event', changes.events, viewEvent)],
    ['run', createTopic('run', changes.runs, ({ run, deliveries }) => viewRun(run, deliveries))],
    ['outbox', createTopic('outbox', changes.outbox, viewDelivery)],
    ['log', createTopic('log', log, (line) => line)],
  ])
  return { names: [...topics.keys()], join: (topic, receive) => topics.get(topic)?.(receive) ?? (() => {}) }
}

/** A notification as it goes over the wire. */
export const notification = (method: string, params: object): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }))

/** Listens to the feed only while somebody has joined. */
function createTopic<Change>(
  name: string,
  feed: Feed<Change>,
  view: (change: Change) => object,
): (receive: Receive) => () => void {
  const joined = createFeed<Buffer>()
  let leaveFeed: (() => void) | undefined
  return (receive) => {
    const leave = joined.subscribe(receive)
    leaveFeed ??= feed.subscribe((change) => joined.publish(notification(name, view(change))))
    return () => {
      leave()
      if (joined.hasSubscribers()) return
      leaveFeed?.()
      leaveFeed = undefined
    }
  }
}

function viewEvent({ id, sessionKey, text, mode, at }: StoredEvent): object {
  return { id, sessionKey, text, mode, at: iso(at) }
}
