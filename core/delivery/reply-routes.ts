// Finds where the newest messages of a session came from, of senders who may still write. Those of main sessions are also
// in memory: the response to a webhook warns if its reply cannot be delivered, and must not wait for the store.
import type { MessageSender } from '../store/provenance.ts'
import type { SenderRoute, Store, StoredRoute } from '../store/store.ts'
import type { SenderRights } from './inbound/sender-rights.ts'

export interface ReplyRoutes {
  /** Loads the routes of a session, and follows new ones from then on. */
  watch(sessionKey: string): Promise<void>
  /** Call it when an incoming message has been stored. */
  note(sessionKey: string, route: SenderRoute & { at: number }): void
  find(sessionKey: string, wanted: Wanted): Promise<LastRoute>
  /** The same from memory, of a watched session. */
  findKnown(sessionKey: string, wanted: Wanted): LastRoute
}

interface Wanted {
  /** Absent: any. */
  channel?: string | undefined
  /** With a recipient, the newest route counts, whoever wrote: the message goes to this recipient. */
  to?: string | undefined
}

/** The newest route whose sender may still write. */
export interface LastRoute {
  route?: StoredRoute | undefined
  /** Why there is no route although somebody has written: a sentence. */
  loss?: string | undefined
}

interface ReplyRoutesDeps {
  store: Pick<Store, 'listRoutes'>
  senderRights: SenderRights
}

/** Complete, because only this process receives messages on its channels. */
export function createReplyRoutes({ store, senderRights }: ReplyRoutesDeps): ReplyRoutes {
  /** The routes of each session, by their channels. */
  const watched = new Map<string, Map<string, StoredRoute>>()

  const note: ReplyRoutes['note'] = (sessionKey, route) => {
    const known = watched.get(sessionKey)
    const before = known?.get(route.channel)
    if (known && (!before || before.at <= route.at)) known.set(route.channel, route)
  }

  const read = async (sessionKey: string): Promise<void> => {
    // Set before the store is read, so that no message in the meantime is missed.
    if (!watched.has(sessionKey)) watched.set(sessionKey, new Map())
    for (const route of await store.listRoutes(sessionKey)) note(sessionKey, route)
  }
  /** The first reads of the sessions. One that failed is made again. */
  const reads = new Map<string, Promise<void>>()

  return {
    note,
    watch: (sessionKey) => {
      const first = reads.get(sessionKey) ?? read(sessionKey)
      reads.set(sessionKey, first)
      return first.catch((error: unknown) => {
        if (reads.get(sessionKey) === first) reads.delete(sessionKey)
        throw error
      })
    },
    find: async (sessionKey, wanted) => {
      const routes = (await store.listRoutes(sessionKey)).filter((route) => isOn(route, wanted))
      if (wanted.to !== undefined) return { route: routes[0] }
      const losses = await Promise.all(routes.map((route) => senderRights.findLoss(writtenOn(route, sessionKey))))
      return choose(routes, losses)
    },
    findKnown: (sessionKey, wanted) => {
      const known = [...(watched.get(sessionKey)?.values() ?? [])]
      const routes = known.filter((route) => isOn(route, wanted)).toSorted((a, b) => b.at - a.at)
      if (wanted.to !== undefined) return { route: routes[0] }
      const losses = routes.map((route) => senderRights.findKnownLoss(writtenOn(route, sessionKey)))
      return choose(routes, losses)
    },
  }
}

const isOn = (route: StoredRoute, { channel }: Wanted): boolean => channel === undefined || route.channel === channel

function choose(routes: readonly StoredRoute[], losses: readonly (string | undefined)[]): LastRoute {
  const route = routes.find((_, index) => losses[index] === undefined)
  return route ? { route } : { loss: losses[0] }
}

/** Who wrote is not recorded of old routes. On most platforms, a direct message is answered to the id of its sender. */
const writtenOn = ({ channel, accountId, to, sender }: StoredRoute, sessionKey: string) => ({
  sender: sender ?? ({ channel, accountId, to, from: { id: to }, isTrusted: true } satisfies MessageSender),
  sessionKey,
})
