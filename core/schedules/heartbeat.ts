// Runs heartbeats: periodically in each agent's main session, and after a wake in the session that the wake names.
import type { Agent, Agents } from '../agents/agents.ts'
import { parseDuration } from '../kit/duration.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Events, Wake } from '../sessions/events.ts'
import type { Store } from '../store/store.ts'
import {
  createHeartbeatOutages,
  createSessionHeartbeat,
  type HeartbeatOutages,
  type SessionHeartbeat,
  type SessionHeartbeatDeps,
  wakeDelayMs,
} from './session-heartbeat.ts'

export interface Heartbeat {
  start(): void
  close(): void
}

interface HeartbeatDeps extends SessionHeartbeatDeps {
  agents: Agents
  events: Events
  store: SessionHeartbeatDeps['store'] & Pick<Store, 'listWaitingWakes'>
  leadership: Leadership
  log: Log
}

const missedWakesMs = 10_000

/** Of the gateways on one store, only one runs heartbeats. */
export interface Leadership {
  /** True: other gateways use the same store. */
  isShared: boolean
  isHeld(): boolean
  /** Passes a wake on to the gateway that runs heartbeats. */
  forwardWake(wake: Wake): void
}

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { agents, events, store, leadership } = deps
  const sessions = createSessions(deps)
  const timers: NodeJS.Timeout[] = []
  let unsubscribe: (() => void) | undefined
  let isClosed = false

  const onWake = (wake: Wake): void => {
    if (!leadership.isHeld()) return leadership.forwardWake(wake)
    const agent = findAgent(agents, wake)
    if (agent) sessions.get(agent, wake.sessionKey).schedule(wakeDelayMs)
  }

  /** Finds wakes whose message was lost. A session that has a heartbeat is left to it: it may wait for a retry. */
  const findMissedWakes = async (): Promise<void> => {
    if (!leadership.isHeld()) return
    for (const wake of await events.listWaitingWakes()) {
      const agent = findAgent(agents, wake)
      if (agent && !isClosed && !sessions.has(agent, wake.sessionKey)) onWake(wake)
    }
  }

  /** Runs a heartbeat in the main session, and in every other session in which events wait for this agent. */
  const runPeriodic = async (agent: Agent): Promise<void> => {
    if (!leadership.isHeld()) return
    sessions.get(agent, agent.mainSession).schedule(0)
    for (const { agentId, sessionKey } of await store.listWaitingWakes())
      if (agentId === agent.id && !isClosed) sessions.get(agent, sessionKey).schedule(0)
  }

  const startTimer = (agent: Agent): void => {
    const everyMs = parseDuration(agent.heartbeat.every) ?? 0
    if (!agent.hasHeartbeat || everyMs === 0) return
    const run = () => void runPeriodic(agent).catch((error: unknown) => sessions.outagesOf(agent).run.failed(error))
    timers.push(setInterval(run, everyMs).unref())
  }

  return {
    start: () => {
      unsubscribe = events.onWake(onWake)
      for (const agent of agents.all) startTimer(agent)
      // If the store cannot be read now, the next look finds them.
      if (leadership.isShared)
        timers.push(setInterval(() => void findMissedWakes().catch(() => undefined), missedWakesMs).unref())
    },
    close: () => {
      isClosed = true
      unsubscribe?.()
      for (const timer of timers) clearInterval(timer)
      sessions.close()
    },
  }
}

const findAgent = (agents: Agents, { sessionKey, agentId }: Wake): Agent | undefined =>
  agentId === undefined ? findOwner(agents, sessionKey) : agents.all.find(({ id }) => id === agentId)

/** In global scope all agents share one main session. Its wakes go to the default agent. */
function findOwner(agents: Agents, sessionKey: string): Agent | undefined {
  const owner = [agents.default, ...agents.all].find(({ mainSession }) => mainSession === sessionKey)
  return owner?.hasHeartbeat ? owner : undefined
}

/** Holds one heartbeat for each agent and session that has work for it. */
function createSessions(deps: HeartbeatDeps) {
  const heartbeats = new Map<string, SessionHeartbeat>()
  const outages = new Map(deps.agents.all.map(({ id }) => [id, createHeartbeatOutages(id, deps.log)]))
  const outagesOf = ({ id }: Agent): HeartbeatOutages => outages.get(id) as HeartbeatOutages
  const keyOf = (agent: Agent, sessionKey: string): string => JSON.stringify([agent.id, sessionKey])
  return {
    outagesOf,
    has: (agent: Agent, sessionKey: string): boolean => heartbeats.has(keyOf(agent, sessionKey)),
    get(agent: Agent, sessionKey: string): SessionHeartbeat {
      const key = keyOf(agent, sessionKey)
      const known = heartbeats.get(key)
      if (known) return known
      const onIdle = () => heartbeats.delete(key)
      const created = createSessionHeartbeat(deps, { agent, sessionKey, outages: outagesOf(agent), onIdle })
      heartbeats.set(key, created)
      return created
    },
    close: () => {
      for (const heartbeat of heartbeats.values()) heartbeat.close()
    },
  }
}
