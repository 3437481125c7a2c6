// The changes of the store that subscribers receive. On a shared store these are the changes of all gateways, each of
// which sends its own only while another one watches them.
import { createFeed, type Feed } from './commits.ts'
import type { ListedStep, RequestSummary, Store, StoredDelivery, StoredEvent, StoredRun } from '../store.ts'
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
}

interface SharedDeps {
  store: Pick<Store, 'getRequest' | 'getRun' | 'listRunDeliveries' | 'getDelivery'>
  replicas: Replicas
}

/** How the changes of a feed are sent: the topic, and the message about a change. */
interface Exchange<Change, Message extends TSchema> {
  topic: Topic<Message>
  toMessage(change: Change): Static<Message>
  /** @returns undefined if the record does not exist any more */
  fromMessage(message: Static<Message>): Promise<Change | undefined>
}

interface SharedFeed<Change> {
  /** Publishes the changes of all gateways. */
  all: Feed<Change>
  /** For the changes of this gateway. */
  own: Feed<Change>
}

/** Messages are short. The text of an event is for display only. */
const maxTextLength = 1_000

const Id = Type.String()
const EventMessage = Type.Object({
  id: Id,
  sessionKey: Type.String(),
  text: Type.String(),
  mode: Type.Enum([...wakeModes]),
  source: Type.String(),
  trusted: Type.Boolean(),
  at: Type.Integer({ minimum: 0, maximum: 8.64e15 }),
})

const Time = Type.Integer({ minimum: 0, maximum: 8.64e15 })
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

/** Returns the changes of all gateways, and feeds for those of this gateway. */
export function shareChanges({ store, replicas }: SharedDeps): { changes: StoreChanges; own: StoreChanges } {
  const share = <Change, Message extends TSchema>(exchange: Exchange<Change, Message>): SharedFeed<Change> =>
    shareFeed(exchange, replicas)
  const requests = share<Changed<'requests'>, typeof Id>({
    topic: { name: 'request', item: Id },
    toMessage: ({ id }) => id,
    fromMessage: (id) => store.getRequest(id),
  })
  const events = share<StoredEvent, typeof EventMessage>({
    topic: { name: 'event', item: EventMessage },
    toMessage: shortenEvent,
    fromMessage: async (event) => event,
  })
  const runs = share<Changed<'runs'>, typeof Id>({
    topic: { name: 'run', item: Id },
    toMessage: ({ run }) => run.id,
    fromMessage: async (id) => {
      const [run, deliveries] = await Promise.all([store.getRun(id), store.listRunDeliveries(id)])
      return run && { run, deliveries }
    },
  })
  const steps = share<StepChange, typeof StepMessage>({
    topic: { name: 'step', item: StepMessage },
    toMessage: (change) => change,
    fromMessage: async (change) => change as StepChange,
  })
  const outbox = share<Changed<'outbox'>, typeof Id>({
    topic: { name: 'delivery', item: Id },
    toMessage: ({ id }) => id,
    fromMessage: (id) => store.getDelivery(id),
  })
  return {
    changes: { requests: requests.all, events: events.all, runs: runs.all, steps: steps.all, outbox: outbox.all },
    own: { requests: requests.own, events: events.own, runs: runs.own, steps: steps.own, outbox: outbox.own },
  }
}

type Changed<Name extends keyof StoreChanges> = StoreChanges[Name] extends Feed<infer Change> ? Change : never

function shareFeed<Change, Message extends TSchema>(
  { topic, toMessage, fromMessage }: Exchange<Change, Message>,
  replicas: Replicas,
): SharedFeed<Change> {
  /** If the record cannot be read now, the subscribers miss one change of it. */
  const receive = (message: Static<Message>): void =>
    void fromMessage(message).then(
      (change) => change !== undefined && all.publish(change),
      () => undefined,
    )
  const all = createFeed<Change>(() => replicas.subscribe(topic, receive))
  const own: Feed<Change> = {
    ...all,
    hasSubscribers: () => all.hasSubscribers() || replicas.isWanted(topic),
    publish: (change) => {
      all.publish(change)
      if (replicas.isWanted(topic)) replicas.publish(topic, toMessage(change))
    },
  }
  return { all, own }
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
