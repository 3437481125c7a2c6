// System events: lines of news that wait in a session until a turn renders them, and the wake signal that some of them
// send.
import type { NewEvent, Store } from '../store/store.ts'

/** Where events wait, and whom they wake: the agent that they name, or else the one whose main session this is. */
export type Wake = Pick<NewEvent, 'sessionKey' | 'agentId'>

export interface Events {
  /** Says that these events are on disk; those with mode `now` wake the heartbeat. */
  announce(events: readonly NewEvent[]): void
  /** Calls the listener with each bell, until the returned function is called. */
  onWake(listener: (wake: Wake) => void): () => void
  /** Requests again the wakes whose events still wait: they were requested before a crash. */
  requestWaitingWakes(): Promise<void>
}

export function createEvents({ store }: { store: Store }): Events {
  const listeners = new Set<(wake: Wake) => void>()
  const requestWake = ({ sessionKey, agentId }: Wake): void => {
    for (const listener of listeners) listener({ sessionKey, agentId })
  }
  return {
    announce: (events) => {
      for (const event of events) if (event.mode === 'now') requestWake(event)
    },
    onWake: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    requestWaitingWakes: async () => {
      // In this order: an event that names its agent and arrives in between must not wake the owner of the session.
      const sessions = await store.listSessionsWithWakes()
      const wakes = (await store.listWaitingWakes()).filter(({ mode }) => mode === 'now')
      const named = new Set(wakes.map(({ sessionKey }) => sessionKey))
      // The agent that is woken in a session renders every event there: a second one would find none.
      const others = sessions.filter((sessionKey) => !named.has(sessionKey))
      for (const wake of [...wakes, ...others.map((sessionKey) => ({ sessionKey }))]) requestWake(wake)
    },
  }
}
