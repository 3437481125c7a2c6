// A feed: publishes items of one kind to its current subscribers. It keeps nothing.

export interface Feed<Item> {
  /** Whether telling reaches anybody. */
  hasSubscribers(): boolean
  publish(item: Item): void
  /** Calls the listener with all news from now on; it must not throw. Returns how to leave. */
  subscribe(subscriber: (item: Item) => void): () => void
}

export function createFeed<Item>(): Feed<Item> {
  const subscribers = new Set<(item: Item) => void>()
  return {
    hasSubscribers: () => subscribers.size > 0,
    publish: (item) => {
      for (const subscriber of subscribers) subscriber(item)
    },
    subscribe: (subscriber) => {
      // A listener of its own for each call, so that whoever listens twice leaves once for each.
      const own = (item: Item): void => subscriber(item)
      subscribers.add(own)
      return () => void subscribers.delete(own)
    },
  }
}
