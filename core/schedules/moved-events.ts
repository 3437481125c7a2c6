// Moves events that would wait forever: those of a main session that is none any more, because its agent was renamed or
// removed or `session` has changed, and those that name an agent that is not in the configuration.
import type { Agent, Agents } from '../agents/agents.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Store, Timestamp } from '../store/store.ts'

interface MovedEventsDeps {
  agents: Agents
  store: Pick<Store, 'getState' | 'setState' | 'listWaitingWakes' | 'moveEvents'>
  /** The time of the store. */
  now(): Timestamp
  log: Log
}

/** The main sessions that there have ever been, each with its agent: a request may still store an event in an old one. */
const [stateOwner, stateKey] = ['main-sessions', 'known']

export interface MovedEvents {
  /** Remembers the main sessions that there are now. */
  learn(): Promise<void>
  /** Moves such events to the main session of their agent, or else of the default agent. */
  move(): Promise<void>
}

export function createMovedEvents({ agents, store, now, log }: MovedEventsDeps): MovedEvents {
  let known: Record<string, string> | undefined
  const current = new Map([...agents.all, agents.default].map(({ mainSession, id }) => [mainSession, id]))
  const find = (id: string): Agent => agents.all.find((agent) => agent.id === id) ?? agents.default

  const readKnown = async (): Promise<Record<string, string>> => {
    const before = ((await store.getState(stateOwner, stateKey)) ?? {}) as Record<string, string>
    const all = { ...before, ...Object.fromEntries(current) }
    if (Object.keys(all).length > Object.keys(before).length) await store.setState(stateOwner, stateKey, all)
    return all
  }

  const move = async (from: { sessionKey: string; agentId: string | null }, { mainSession }: Agent): Promise<void> => {
    const events = await store.moveEvents(from, mainSession)
    if (events === 0) return
    const message = 'waiting events were moved to another session, because their agent or its main session is gone'
    log.warn({ events, from: from.sessionKey, to: mainSession }, message)
  }

  const learn = async (): Promise<Record<string, string>> => (known ??= await readKnown())

  return {
    learn: async () => void (await learn()),
    move: async () => {
      for (const [sessionKey, id] of Object.entries(await learn()))
        if (!current.has(sessionKey)) await move({ sessionKey, agentId: null }, find(id))
      for (const { sessionKey, agentId } of await store.listWaitingWakes(now()))
        if (agents.find(agentId) === undefined) await move({ sessionKey, agentId }, agents.default)
    },
  }
}
