// Runs heartbeats: periodically in each agent's main session, and after a wake in the session that the wake names.
import type { Agent, Agents } from '../agents/agents.ts'
import { parseDuration } from '../config/duration.ts'
import type { Log } from '../plugin.ts'
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

/** Of the gateways on one store, only one runs heartbeats. */
export interface Leadership {
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

  const onWake = ({ sessionKey, agentId }: Wake): void => {
    if (!leadership.isHeld()) return leadership.forwardWake({ sessionKey, agentId })
    const agent = agentId === undefined ? findOwner(agents, sessionKey) : agents.all.find(({ id }) => id === agentId)
    if (agent) sessions.get(agent, sessionKey).schedule(wakeDelayMs)
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
    },
    close: () => {
      isClosed = true
      unsubscribe?.()
      for (const timer of timers) clearInterval(timer)
      sessions.close()
    },
  }
}

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
  return {
    outagesOf,
    get(agent: Agent, sessionKey: string): SessionHeartbeat {
      const key = JSON.stringify([agent.id, sessionKey])
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
