// System events: lines of news that wait in a session until a turn renders them, and the bell that some of them ring.
import type { NewEvent, Store } from '../store/store.ts'

export interface Events {
  /** Says that these events are on disk; those with mode `now` ring the bell. */
  announce(events: readonly NewEvent[]): void
  /** Calls the listener with the session in which a bell was rung, until the returned function is called. */
  onBell(listener: (sessionKey: string) => void): () => void
  /** Rings again the bells whose events still wait: they were rung before a crash. */
  ringWaiting(): Promise<void>
}

export function createEvents({ store }: { store: Store }): Events {
  const listeners = new Set<(sessionKey: string) => void>()
  const ring = (sessionKey: string): void => {
    for (const listener of listeners) listener(sessionKey)
  }
  return {
    announce: (events) => {
      for (const event of events) if (event.mode === 'now') ring(event.sessionKey)
    },
    onBell: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    ringWaiting: async () => {
      for (const sessionKey of await store.sessionsWithBells()) ring(sessionKey)
    },
  }
}
