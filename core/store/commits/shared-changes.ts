// The changes of all gateways on a shared store. Each gateway sends its changes only while another one watches them.
import type { Json } from '../../plugin.ts'
import type { StoreChanges } from './changes.ts'
import { createFeed, type Feed } from './feed.ts'
import type { Replicas } from '../replicas.ts'
import type { Store, StoredEvent } from '../store.ts'

interface SharedDeps {
  store: Pick<Store, 'getRequest' | 'getRun' | 'listRunDeliveries' | 'getDelivery'>
  replicas: Replicas
}

/** How the changes of a feed are sent: the topic, and the message about a change. */
interface Exchange<Change> {
  topic: string
  toMessage(change: Change): Json
  /** @returns undefined if the record does not exist any more */
  fromMessage(message: Json): Promise<Change | undefined>
}

interface SharedFeed<Change> {
  /** Publishes the changes of all gateways. */
  all: Feed<Change>
  /** For the changes of this gateway. */
  own: Feed<Change>
}

/** Messages are short. The text of an event is for display only. */
const maxTextLength = 1_000

/** Returns the changes of all gateways, and feeds for those of this gateway. */
export function shareChanges({ store, replicas }: SharedDeps): { changes: StoreChanges; own: StoreChanges } {
  const share = <Change>(exchange: Exchange<Change>): SharedFeed<Change> => shareFeed(exchange, replicas)
  const requests = share<Changed<'requests'>>({
    topic: 'request',
    toMessage: ({ id }) => id,
    fromMessage: (id) => store.getRequest(id as string),
  })
  const events = share<StoredEvent>({
    topic: 'event',
    toMessage: shortenEvent,
    fromMessage: async (event) => event as unknown as StoredEvent,
  })
  const runs = share<Changed<'runs'>>({
    topic: 'run',
    toMessage: ({ run }) => run.id,
    fromMessage: async (id) => {
      const [run, deliveries] = await Promise.all([store.getRun(id as string), store.listRunDeliveries(id as string)])
      return run && { run, deliveries }
    },
  })
  const outbox = share<Changed<'outbox'>>({
    topic: 'delivery',
    toMessage: ({ id }) => id,
    fromMessage: (id) => store.getDelivery(id as string),
  })
  return {
    changes: { requests: requests.all, events: events.all, runs: runs.all, outbox: outbox.all },
    own: { requests: requests.own, events: events.own, runs: runs.own, outbox: outbox.own },
  }
}

type Changed<Name extends keyof StoreChanges> = StoreChanges[Name] extends Feed<infer Change> ? Change : never

function shareFeed<Change>(
  { topic, toMessage, fromMessage }: Exchange<Change>,
  replicas: Replicas,
): SharedFeed<Change> {
  /** If the record cannot be read now, the subscribers miss one change of it. */
  const receive = (message: Json): void =>
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

const shortenEvent = ({ id, sessionKey, text, mode, source, trusted, at }: StoredEvent): Json => ({
  id,
  sessionKey,
  text: text.slice(0, maxTextLength),
  mode,
  source,
  trusted,
  at,
})
