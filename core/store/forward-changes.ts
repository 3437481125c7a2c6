// Forwards changes to the other gateways on the same store, and publishes theirs here.
import type { Json } from '../plugin.ts'
import type { StoreChanges } from './changes.ts'
import type { Feed } from './feed.ts'
import type { Replicas } from './replicas.ts'
import type { Store, StoredEvent } from './store.ts'

/** The message about a change of a run or a delivery. */
export interface ChangeMessage {
  id: string
  status: string
}

/** Messages are short. The text of an event is for display only. */
const maxTextLength = 1_000

/** Returns feeds for the changes of this gateway: they are published in `changes` and sent to the others. */
export function forwardChanges(changes: StoreChanges, { store, replicas }: ForwardDeps): StoreChanges {
  const forward = <Change>(feed: Feed<Change>, send: (change: Change) => void): Feed<Change> => ({
    ...feed,
    hasSubscribers: () => true,
    publish: (change) => {
      feed.publish(change)
      send(change)
    },
  })
  receiveChanges(changes, { store, replicas })
  return {
    requests: forward(changes.requests, ({ id }) => replicas.publish('request', id)),
    events: forward(changes.events, (event) => replicas.publish('event', shortenEvent(event))),
    runs: forward(changes.runs, ({ run: { id, status } }) => replicas.publish('run', { id, status })),
    outbox: forward(changes.outbox, ({ id, status }) => replicas.publish('outbox', { id, status })),
  }
}

interface ForwardDeps {
  store: Pick<Store, 'getRequest' | 'getRun' | 'listRunDeliveries' | 'getDelivery'>
  replicas: Replicas
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

function receiveChanges(changes: StoreChanges, { store, replicas }: ForwardDeps): void {
  replicas.subscribe('request', (id) => reread(changes.requests, () => store.getRequest(id as string)))
  replicas.subscribe('event', (event) => changes.events.publish(event as unknown as StoredEvent))
  replicas.subscribe('run', (message) =>
    reread(changes.runs, async () => {
      const { id } = message as unknown as ChangeMessage
      const [run, deliveries] = await Promise.all([store.getRun(id), store.listRunDeliveries(id)])
      return run && { run, deliveries }
    }),
  )
  replicas.subscribe('outbox', (message) =>
    reread(changes.outbox, () => store.getDelivery((message as unknown as ChangeMessage).id)),
  )
}

/** Only for subscribers. If the record cannot be read now, they miss one change of it. */
function reread<Change>(feed: Feed<Change>, read: () => Promise<Change | undefined>): void {
  if (!feed.hasSubscribers()) return
  read().then(
    (change) => change !== undefined && feed.publish(change),
    () => undefined,
  )
}
