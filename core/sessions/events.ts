// System events: lines of news that wait in a session until a turn renders them, and the bell that some of them ring.
import type { NewEvent, Store } from '../store/store.ts'

/** Where events wait, and whom they wake: the agent that they name, or else the one whose main session this is. */
export type Wake = Pick<NewEvent, 'sessionKey' | 'agentId'>

export interface Events {
  /** Says that these events are on disk; those with mode `now` ring the bell. */
  announce(events: readonly NewEvent[]): void
  /** Calls the listener with each bell, until the returned function is called. */
  onBell(listener: (wake: Wake) => void): () => void
  /** Rings again the bells whose events still wait: they were rung before a crash. */
  ringWaiting(): Promise<void>
}

export function createEvents({ store }: { store: Store }): Events {
  const listeners = new Set<(wake: Wake) => void>()
  const ring = ({ sessionKey, agentId }: Wake): void => {
    for (const listener of listeners) listener({ sessionKey, agentId })
  }
  return {
    announce: (events) => {
      for (const event of events) if (event.mode === 'now') ring(event)
    },
    onBell: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    ringWaiting: async () => {
      // In this order: an event that names its agent and arrives in between must not wake the owner of the session.
      const sessions = await store.sessionsWithBells()
      const wakes = (await store.waitingWakes()).filter(({ mode }) => mode === 'now')
      const named = new Set(wakes.map(({ sessionKey }) => sessionKey))
      // The agent that is woken in a session renders every event there: a second one would find none.
      const others = sessions.filter((sessionKey) => !named.has(sessionKey))
      for (const wake of [...wakes, ...others.map((sessionKey) => ({ sessionKey }))]) ring(wake)
    },
  }
}
