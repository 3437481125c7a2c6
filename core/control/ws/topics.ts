// The topics of the WebSocket. Each change is serialized once, however many clients are subscribed.
import { viewRun } from '../../runs/run-view.ts'
import { createFeed, type Feed } from '../../store/commits/commits.ts'
import { viewStep } from '../../runs/step-view.ts'
import type { StoreChanges } from '../../store/commits/changes.ts'
import type { StoredEvent } from '../../store/store.ts'
import { viewRequest } from '../requests.ts'
import type { LogRecord } from './log-stream.ts'
import { iso } from '../lists.ts'
import { viewDelivery } from '../outbox.ts'

type SendFrame = (frame: Buffer) => void

export interface Topics {
  names: readonly string[]
  /** Sends every notification of a topic to `send`. Returns a function that unsubscribes. */
  subscribe(topic: string, send: SendFrame): () => void
}

export function createTopics(changes: StoreChanges, log: Feed<LogRecord>): Topics {
  const topics = new Map([
    ['request', createTopic('request', changes.requests, viewRequest)],
    ['event', createTopic('event', changes.events, viewEvent)],
    ['run', createTopic('run', changes.runs, ({ run, deliveries }) => viewRun(run, deliveries))],
    ['step', createTopic('step', changes.steps, ({ step, ...run }) => ({ ...run, ...viewStep(step) }))],
    ['outbox', createTopic('outbox', changes.outbox, viewDelivery)],
    ['log', createTopic('log', log, (line) => line)],
  ])
  return { names: [...topics.keys()], subscribe: (topic, send) => topics.get(topic)?.(send) ?? (() => {}) }
}

/** Serializes a notification. */
export const notification = (method: string, params: object): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }))

/** Subscribes to the feed only while the topic has subscribers. */
function createTopic<Change>(
  name: string,
  feed: Feed<Change>,
  view: (change: Change) => object,
): (send: SendFrame) => () => void {
  const frames = createFeed<Buffer>()
  let unsubscribeFeed: (() => void) | undefined
  return (send) => {
    const unsubscribe = frames.subscribe(send)
    unsubscribeFeed ??= feed.subscribe((change) => frames.publish(notification(name, view(change))))
    return () => {
      unsubscribe()
      if (frames.hasSubscribers()) return
      unsubscribeFeed?.()
      unsubscribeFeed = undefined
    }
  }
}

function viewEvent({ id, sessionKey, text, mode, at }: StoredEvent): object {
  return { id, sessionKey, text, mode, at: iso(at) }
}
