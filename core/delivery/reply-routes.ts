// Keeps the last routes of main sessions in memory. The response to a webhook warns if its reply cannot be delivered,
// and must not wait for the store.
import type { NewRoute, Store, StoredRoute } from '../store/store.ts'

export type KnownRoute = Pick<StoredRoute, 'channel' | 'accountId' | 'to' | 'threadId' | 'route' | 'at'>

export interface ReplyRoutes {
  /** Loads the routes of a session on these channels, and follows new ones from then on. */
  watch(sessionKey: string, channels: Iterable<string>): Promise<void>
  /** Call it when an incoming message has been stored. */
  note(sessionKey: string, route: NewRoute & { at: number }): void
  /** The newest route of a watched session, or its newest on one channel. */
  last(sessionKey: string, channel?: string): KnownRoute | undefined
}

/** Complete, because only this process receives messages on its channels. */
export function createReplyRoutes({ store }: { store: Pick<Store, 'getLastRoute'> }): ReplyRoutes {
  const watched = new Map<string, Map<string, KnownRoute>>()

  const note: ReplyRoutes['note'] = (sessionKey, route) => {
    const known = watched.get(sessionKey)
    const before = known?.get(route.channel)
    if (known && (!before || before.at <= route.at)) known.set(route.channel, route)
  }

  const read = async (sessionKey: string, channels: Iterable<string>): Promise<void> => {
    // Set before the store is read, so that no message in the meantime is missed.
    if (!watched.has(sessionKey)) watched.set(sessionKey, new Map())
    const routes = await Promise.all([undefined, ...channels].map((channel) => store.getLastRoute(sessionKey, channel)))
    for (const route of routes) if (route) note(sessionKey, route)
  }
  /** The first reads of the sessions. One that failed is made again. */
  const reads = new Map<string, Promise<void>>()

  return {
    note,
    watch: (sessionKey, channels) => {
      const first = reads.get(sessionKey) ?? read(sessionKey, channels)
      reads.set(sessionKey, first)
      return first.catch((error: unknown) => {
        if (reads.get(sessionKey) === first) reads.delete(sessionKey)
        throw error
      })
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
