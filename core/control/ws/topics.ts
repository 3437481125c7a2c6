// The topics of the WebSocket. Each change is serialized once, however many clients are subscribed, and once more for
// those that may not read what was said.
import { type Access, authorize, type Principal, reaches, requireContent } from '../../http/access.ts'
import { createFeed, type Feed } from '../../store/commits/commits.ts'
import type { StoreChanges } from '../../store/commits/changes.ts'
import { catchUp, type Replicas } from '../../store/replicas.ts'
import type { Store, StoredEvent } from '../../store/store.ts'
import { locateSession, type SessionOwners } from '../../tools/session.ts'
import { type JsonSchema, Type } from '../../typebox.ts'
import type { Redactor } from '../../config/redaction.ts'
import { Approval, createApprovalView } from '../approvals.ts'
import { content, createHideContent, type HideContent, sessionKey } from '../content.ts'
import type { SessionKeySeal } from '../cursor.ts'
import { Summary, viewRequest } from '../requests.ts'
import type { LogRecord } from './log-stream.ts'
import { iso } from '../lists.ts'
import { Delivery, viewDelivery } from '../outbox.ts'
import { Run, viewRun } from '../run-view.ts'
import type { ExplainNarrowing } from '../../tools/explain-narrowing.ts'
import { Step, viewStep } from '../step-view.ts'

type SendFrame = (frame: Buffer) => void

export interface Topics {
  names: readonly string[]
  /** Throws `forbidden` if the client may not subscribe to the topic. */
  authorize(topic: string, principal: Principal): void
  /** Sends every notification of a topic that the client may see to `send`. Returns a function that unsubscribes. */
  subscribe(topic: string, send: SendFrame, principal: Principal): () => void
  /** Calls `receive` when changes of other gateways may have been missed. Returns a function that ends it. */
  onMissed(receive: () => void): () => void
}

interface TopicsDeps {
  changes: StoreChanges
  replicas: Pick<Replicas, 'subscribe'>
  log: Feed<LogRecord>
  store: Pick<Store, 'getRun'>
  agents: SessionOwners
  explainNarrowing: ExplainNarrowing
  redactor: Pick<Redactor, 'text' | 'json'>
  sessionKeys: Pick<SessionKeySeal, 'seal'>
}

export function createTopics({
  changes,
  replicas,
  log,
  store,
  agents,
  explainNarrowing,
  redactor,
  sessionKeys,
}: TopicsDeps): Topics {
  const hide = createHideContent(sessionKeys)
  const createTopic = <Change>(feed: Feed<Change>, topic: TopicView<Change>) => createTopicOf(feed, topic, hide)
  const topics: readonly Topic[] = [
    createTopic(changes.requests, {
      name: 'request',
      view: viewRequest,
      schema: Summary,
      agentsOf: ({ result }) => result.agents ?? [],
    }),
    createTopic(changes.events, {
      name: 'event',
      view: viewEvent,
      schema: Event,
      agentsOf: ({ sessionKey }) => [locateSession(agents, sessionKey).agentId],
    }),
    createTopic(changes.runs, {
      name: 'run',
      view: ({ run, deliveries }) => viewRun(run, deliveries, { explainNarrowing }),
      schema: Run,
      agentsOf: ({ run }) => [run.agentId],
    }),
    createTopic(changes.steps, {
      name: 'step',
      view: ({ step, ...run }) => ({ ...run, ...viewStep(step) }),
      schema: StepOfRun,
      agentsOf: ({ agentId }) => [agentId],
    }),
    createTopic(changes.outbox, {
      name: 'outbox',
      view: viewDelivery,
      schema: Delivery,
      agentsOf: async ({ runId }) => [(await store.getRun(runId))?.agentId ?? ''],
    }),
    createTopic(changes.approvals, {
      name: 'approval',
      view: createApprovalView(redactor),
      schema: Approval,
      agentsOf: ({ agentId }) => [agentId],
    }),
    createTopic(log, { name: 'log', view: (line) => line }),
  ]
  const find = (wanted: string): Topic | undefined => topics.find(({ name }) => name === wanted)
  return {
    names: topics.map(({ name }) => name),
    authorize: (name, principal) => find(name)?.authorize(principal),
    subscribe: (name, send, principal) => find(name)?.subscribe(send, principal) ?? (() => {}),
    onMissed: (receive) => replicas.subscribe(catchUp, receive),
  }
}

/** Serializes a notification. */
export const notification = (method: string, params: object): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }))

interface Topic {
  name: string
  authorize(principal: Principal): void
  subscribe(send: SendFrame, principal: Principal): () => void
}

interface TopicView<Change> {
  name: string
  view(change: Change): object
  /** Marks what only clients with `content: true` get. Absent: everything. */
  schema?: JsonSchema
  /** The agents that a change concerns. Absent: the topic concerns the whole gateway. */
  agentsOf?(change: Change): readonly string[] | Promise<readonly string[]>
}

interface Published<Change> {
  change: Change
  /** Serialized when the first subscriber needs it. */
  frame(withContent: boolean): Buffer
}

/** Subscribes to the feed only while the topic has subscribers. */
function createTopicOf<Change>(feed: Feed<Change>, topic: TopicView<Change>, hide: HideContent): Topic {
  const { name, view, schema, agentsOf } = topic
  const access: Access = { needs: 'read', scope: agentsOf ? 'agents' : 'gateway' }
  const published = createFeed<Published<Change>>()
  let unsubscribeFeed: (() => void) | undefined

  const publish = (change: Change): void => {
    const frames = new Map<boolean, Buffer>()
    const frame = (withContent: boolean): Buffer => {
      const known = frames.get(withContent)
      if (known) return known
      const params = withContent ? view(change) : (hide(schema, view(change)) as object)
      const made = notification(name, params)
      frames.set(withContent, made)
      return made
    }
    published.publish({ change, frame })
  }

  return {
    name,
    authorize: (principal) => {
      authorize(principal, access)
      if (!schema) requireContent(principal, `the topic ${name}`)
    },
    subscribe: (send, principal) => {
      const receive = createReceiver(send, principal, agentsOf)
      const unsubscribe = published.subscribe(receive)
      unsubscribeFeed ??= feed.subscribe(publish)
      return () => {
        unsubscribe()
        if (published.hasSubscribers()) return
        unsubscribeFeed?.()
        unsubscribeFeed = undefined
      }
    },
  }
}

/** A client that is limited to agents gets the changes that concern one of them, in their order. */
function createReceiver<Change>(
  send: SendFrame,
  principal: Principal,
  agentsOf: TopicView<Change>['agentsOf'] = () => [],
): (published: Published<Change>) => void {
  if (!principal.agents) return ({ frame }) => send(frame(principal.content))
  let last: Promise<void> = Promise.resolve()
  const sendIfReached = async ({ change, frame }: Published<Change>): Promise<void> => {
    const agentIds = await agentsOf(change)
    if (agentIds.some((agentId) => reaches(principal, agentId))) send(frame(principal.content))
  }
  return (published) => {
    // If the agent of a change cannot be read, only this change is lost.
    last = last.then(() => sendIfReached(published)).catch(() => undefined)
  }
}

const Event = Type.Object({ sessionKey: Type.String(sessionKey), text: Type.Optional(Type.String(content)) })

const StepOfRun = Type.Object({ sessionKey: Type.String(sessionKey), ...Step.properties })

function viewEvent({ id, sessionKey, text, mode, at }: StoredEvent): object {
  return { id, sessionKey, text, mode, at: iso(at) }
}
