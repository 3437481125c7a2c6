// The feeds of the store's changes. On a shared store they publish the changes of all gateways, each of which sends its
// own only while another one watches them.
import { createFeed, type Feed } from './commits.ts'
import type {
  ListedStep,
  RequestSummary,
  Store,
  StoredApproval,
  StoredDelivery,
  StoredEvent,
  StoredRun,
} from '../store.ts'
import { wakeModes } from '../../action.ts'
import { type Static, type TSchema, Type } from '../../typebox.ts'
import type { Replicas, Topic } from '../replicas.ts'
import { stepStatuses } from '../tables/step.ts'

export type RequestChange = Omit<RequestSummary, 'seq'>
export type DeliveryChange = Omit<StoredDelivery, 'seq'>
export interface RunChange {
  run: Omit<StoredRun, 'seq'>
  deliveries: readonly DeliveryChange[]
}

/** A step that begins or has ended. The beginning of a call of a model is not stored. */
export interface StepChange {
  runId: string
  agentId: string
  sessionKey: string
  /** With the arguments of a call, shortened, and nothing else of what was said. */
  step: ListedStep
}

export interface StoreChanges {
  requests: Feed<RequestChange>
  events: Feed<StoredEvent>
  runs: Feed<RunChange>
  steps: Feed<StepChange>
  outbox: Feed<DeliveryChange>
  approvals: Feed<StoredApproval>
}

interface ChangesDeps {
  store: Pick<Store, 'getRequest' | 'getRun' | 'listRunDeliveries' | 'getDelivery' | 'getApproval'>
  replicas: Replicas
}

/** How the changes of a feed are sent: the topic, and the message about a change. */
interface Exchange<Change, Message extends TSchema> {
  topic: Topic<Message>
  toMessage(change: Change): Static<Message>
  /** @returns undefined if the record does not exist any more */
  fromMessage(message: Static<Message>): Promise<Change | undefined>
}

/** Messages are short. The text of an event is for display only. */
const maxTextLength = 1_000

const Id = Type.String()
const Time = Type.Integer({ minimum: 0, maximum: 8.64e15 })
const EventMessage = Type.Object({
  id: Id,
  sessionKey: Type.String(),
  text: Type.String(),
  mode: Type.Enum([...wakeModes]),
  source: Type.String(),
  trusted: Type.Boolean(),
  at: Time,
})

const StepMessage = Type.Object({
  runId: Id,
  agentId: Type.String(),
  sessionKey: Type.String(),
  step: Type.Object({
    number: Type.Integer(),
    attempt: Type.Integer(),
    kind: Type.Enum(['model', 'tool']),
    status: Type.Enum([...stepStatuses]),
    startedAt: Time,
    endedAt: Type.Union([Time, Type.Null()]),
    detail: Type.Object({}, { additionalProperties: true }),
    content: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()]),
  }),
})

/** Creates the feeds. Nothing publishes the changes of this gateway yet. */
export function createChanges({ store, replicas }: ChangesDeps): StoreChanges {
  const share = <Change, Message extends TSchema>(exchange: Exchange<Change, Message>): Feed<Change> =>
    shareFeed(exchange, replicas)
  return {
    requests: share({
      topic: { name: 'request', item: Id },
      toMessage: ({ id }: RequestChange) => id,
      fromMessage: (id) => store.getRequest(id),
    }),
    events: share({
      topic: { name: 'event', item: EventMessage },
      toMessage: shortenEvent,
      fromMessage: async (event): Promise<StoredEvent> => event,
    }),
    runs: share({
      topic: { name: 'run', item: Id },
      toMessage: ({ run }: RunChange) => run.id,
      fromMessage: (id) => readRunChange(store, id),
    }),
    // Published by those who make the steps, because not every change of a step is committed.
    steps: share({
      topic: { name: 'step', item: StepMessage },
      toMessage: (change: StepChange) => change,
      fromMessage: async (change) => change as StepChange,
    }),
    outbox: share({
      topic: { name: 'delivery', item: Id },
      toMessage: ({ id }: DeliveryChange) => id,
      fromMessage: (id) => store.getDelivery(id),
    }),
    approvals: share({
      topic: { name: 'approval', item: Id },
      toMessage: ({ id }: StoredApproval) => id,
      fromMessage: (id) => store.getApproval(id),
    }),
  }
}

/** Undefined if the run does not exist. */
export async function readRunChange(
  store: Pick<Store, 'getRun' | 'listRunDeliveries'>,
  id: string,
): Promise<RunChange | undefined> {
  const [run, deliveries] = await Promise.all([store.getRun(id), store.listRunDeliveries([id])])
  return run && { run, deliveries }
}

/** Subscribers get the changes of all gateways. What is published is a change of this gateway. */
function shareFeed<Change, Message extends TSchema>(
  { topic, toMessage, fromMessage }: Exchange<Change, Message>,
  replicas: Replicas,
): Feed<Change> {
  /** If the record cannot be read now, the subscribers miss one change of it. */
  const receive = (message: Static<Message>): void =>
    void fromMessage(message).then(
      (change) => change !== undefined && feed.publish(change),
      () => undefined,
    )
  const feed = createFeed<Change>(() => replicas.subscribe(topic, receive))
  return {
    subscribe: feed.subscribe,
    hasSubscribers: () => feed.hasSubscribers() || replicas.isWanted(topic),
    publish: (change) => {
      feed.publish(change)
      if (replicas.isWanted(topic)) replicas.publish(topic, toMessage(change))
    },
  }
}

const shortenEvent = ({
  id,
  sessionKey,
  text,
  mode,
  source,
  trusted,
  at,
}: StoredEvent): Static<typeof EventMessage> => ({
  id,
  sessionKey,
  text: text.slice(0, maxTextLength),
  mode,
  source,
  trusted,
  at,
})
