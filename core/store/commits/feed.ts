// A feed publishes items of one kind to its current subscribers. It stores nothing.

export interface Feed<Item> {
  hasSubscribers(): boolean
  publish(item: Item): void
  /** Calls `subscriber` with every item from now on. It must not throw. @returns a function that unsubscribes */
  subscribe(subscriber: (item: Item) => void): () => void
}

/** @param start called for the first subscriber; the function that it returns is called when there is none any more */
export function createFeed<Item>(start?: () => () => void): Feed<Item> {
  const subscribers = new Set<(item: Item) => void>()
  let stop: (() => void) | undefined
  return {
    hasSubscribers: () => subscribers.size > 0,
    publish: (item) => {
      for (const subscriber of subscribers) subscriber(item)
    },
    subscribe: (subscriber) => {
      if (subscribers.size === 0) stop = start?.()
      // A function of its own for each subscription: the same subscriber may subscribe twice.
      const own = (item: Item): void => subscriber(item)
      subscribers.add(own)
      return () => {
        if (subscribers.delete(own) && subscribers.size === 0) stop?.()
      }
    },
  }
}
