// The routes of main sessions, in memory: the answer to a webhook says whether a reply can be delivered, and must not
// wait for the store to say it.
import type { NewRoute, Store, StoredRoute } from '../store/store.ts'

export type KnownRoute = Pick<StoredRoute, 'channel' | 'accountId' | 'to' | 'threadId' | 'route' | 'at'>

export interface ReplyRoutes {
  /** Reads the routes of a session on these channels; from then on its new ones are known, too. */
  watch(sessionKey: string, channels: Iterable<string>): Promise<void>
  /** A message has come in: its route is on disk. */
  note(sessionKey: string, route: NewRoute & { at: number }): void
  /** The newest route of a watched session, or its newest on one channel. */
  last(sessionKey: string, channel?: string): KnownRoute | undefined
}

/** Only this process receives messages on its channels, so no route is written that it does not note. */
export function createReplyRoutes({ store }: { store: Pick<Store, 'getLastRoute'> }): ReplyRoutes {
  const watched = new Map<string, Map<string, KnownRoute>>()

  const note: ReplyRoutes['note'] = (sessionKey, route) => {
    const known = watched.get(sessionKey)
    const before = known?.get(route.channel)
    if (known && (!before || before.at <= route.at)) known.set(route.channel, route)
  }

  return {
    note,
    watch: async (sessionKey, channels) => {
      if (watched.has(sessionKey)) return
      // Before the store is read: what comes in meanwhile is not missed.
      watched.set(sessionKey, new Map())
      const routes = await Promise.all(
        [undefined, ...channels].map((channel) => store.getLastRoute(sessionKey, channel)),
      )
      for (const route of routes) if (route) note(sessionKey, route)
    },
    last: (sessionKey, channel) => {
      const known = watched.get(sessionKey)
      if (channel !== undefined) return known?.get(channel)
      return [...(known?.values() ?? [])].reduce<KnownRoute | undefined>(
        (newest, one) => (newest && newest.at > one.at ? newest : one),
        undefined,
      )
    },
  }
}
