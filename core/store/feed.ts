// A feed: tells news of one kind to whoever listens at the moment. It keeps nothing, and while nobody listens nothing is even made.

export interface Feed<News> {
  /** Whether telling reaches anybody. */
  isHeard(): boolean
  tell(news: News): void
  /** Calls the listener with all news from now on; it must not throw. Returns how to leave. */
  listen(listener: (news: News) => void): () => void
}

export function createFeed<News>(): Feed<News> {
  const listeners = new Set<(news: News) => void>()
  return {
    isHeard: () => listeners.size > 0,
    tell: (news) => {
      for (const listener of listeners) listener(news)
    },
    listen: (listener) => {
      // A listener of its own for each call, so that whoever listens twice leaves once for each.
      const own = (news: News): void => listener(news)
      listeners.add(own)
      return () => void listeners.delete(own)
    },
  }
}
