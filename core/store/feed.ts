// A feed publishes items of one kind to its current subscribers. It stores nothing.

export interface Feed<Item> {
  hasSubscribers(): boolean
  publish(item: Item): void
  /** Calls `subscriber` with every item from now on. It must not throw. @returns a function that unsubscribes */
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
      // A function of its own for each subscription: the same subscriber may subscribe twice.
      const own = (item: Item): void => subscriber(item)
      subscribers.add(own)
      return () => void subscribers.delete(own)
    },
  }
}
