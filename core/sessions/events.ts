// System events: texts that wait in a session until a turn renders them, and the wake signal that some of them send.
import type { NewEvent, Store, Timestamp } from '../store/store.ts'

/** A session with waiting events. They wake the agent that they name, or else the owner of the main session. */
export type Wake = Pick<NewEvent, 'sessionKey' | 'agentId'>

export interface Events {
  /** Call it when events have been stored: those with mode `now` wake the heartbeat. */
  announce(events: readonly NewEvent[]): void
  /** Wakes the heartbeat of a session. */
  wake(wake: Wake): void
  /** Calls the listener for each wake, until the returned function is called. */
  onWake(listener: (wake: Wake) => void): () => void
  /** The wakes whose events are still waiting. */
  listWaitingWakes(): Promise<Wake[]>
  /** After a restart, repeats the wakes whose events are still waiting. */
  requestWaitingWakes(): Promise<void>
}

interface EventsDeps {
  store: Pick<Store, 'listSessionsWithWakes' | 'listWaitingWakes'>
  /** The time of the store. */
  now(): Timestamp
}

export function createEvents({ store, now }: EventsDeps): Events {
  const listeners = new Set<(wake: Wake) => void>()
  const requestWake = ({ sessionKey, agentId }: Wake): void => {
    for (const listener of listeners) listener({ sessionKey, agentId })
  }
  const listWaitingWakes = async (): Promise<Wake[]> => {
    // Sessions first: an event that arrives in between and names its agent must not wake the session's owner.
    const sessions = await store.listSessionsWithWakes(now())
    const wakes = (await store.listWaitingWakes(now())).filter(({ mode }) => mode === 'now')
    const named = new Set(wakes.map(({ sessionKey }) => sessionKey))
    // One wake per session is enough, because its turn renders all events of the session.
    const others = sessions.filter((sessionKey) => !named.has(sessionKey))
    return [...wakes, ...others.map((sessionKey) => ({ sessionKey }))]
  }

  return {
    announce: (events) => {
      for (const event of events) if (event.mode === 'now') requestWake(event)
    },
    wake: requestWake,
    onWake: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    listWaitingWakes,
    requestWaitingWakes: async () => {
      for (const wake of await listWaitingWakes()) requestWake(wake)
    },
  }
}
