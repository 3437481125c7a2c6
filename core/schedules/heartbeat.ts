// Runs heartbeats: periodically in each agent's main session, and after a wake in the session that the wake names.
import type { Agent, Agents } from '../agents/agents.ts'
import { parseDuration } from '../kit/duration.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Events, Wake } from '../sessions/events.ts'
import { createPoller, type Poller } from '../store/poller.ts'
import type { Store, Timestamp } from '../store/store.ts'
import { createMovedEvents } from './moved-events.ts'
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
  store: SessionHeartbeatDeps['store'] & Pick<Store, 'listWaitingWakes' | 'getState' | 'setState' | 'moveEvents'>
  leadership: Leadership
  log: Log
}

const missedWakesMs = 10_000
/** The clock may jump, and another gateway may stop running heartbeats, so the store is read at least this often. */
const maxWaitMs = 60_000
const retryMs = 5_000
/** The owner of the times of the last periodic heartbeats, which restarts and reloads must not forget. */
const stateOwner = 'heartbeat'

/** Of the gateways on one store, only one runs heartbeats. */
export interface Leadership {
  /** True: other gateways use the same store. */
  isShared: boolean
  isHeld(): boolean
  /** Passes a wake on to the gateway that runs heartbeats. */
  forwardWake(wake: Wake): void
}

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { agents, events, store, leadership, now, log } = deps
  const sessions = createSessions(deps)
  const movedEvents = createMovedEvents(deps)
  const pollers: Poller[] = []
  let timer: NodeJS.Timeout | undefined
  let unsubscribe: (() => void) | undefined
  let isClosed = false

  const onWake = (wake: Wake): void => {
    if (!leadership.isHeld()) return leadership.forwardWake(wake)
    const agent = findAgent(agents, wake)
    if (agent) sessions.get(agent, wake.sessionKey).schedule(wakeDelayMs)
  }

  /**
   * Finds wakes whose message was lost, or whose events another run has claimed and not rendered. A session that has a
   * heartbeat is left to it: it may wait for a retry.
   */
  const findMissedWakes = async (): Promise<void> => {
    await movedEvents.learn()
    if (!leadership.isHeld()) return
    await movedEvents.move()
    for (const wake of await events.listWaitingWakes()) {
      const agent = findAgent(agents, wake)
      if (agent && !isClosed && !sessions.has(agent, wake.sessionKey)) onWake(wake)
    }
  }

  /** Runs a heartbeat in the main session, and in every other session in which events wait for this agent. */
  const runPeriodic = async (agent: Agent): Promise<void> => {
    sessions.get(agent, agent.mainSession).schedule(0)
    for (const { agentId, sessionKey } of await store.listWaitingWakes(now()))
      if (agentId === agent.id && !isClosed) sessions.get(agent, sessionKey).schedule(0)
  }

  /** @returns how long it is until the next periodic heartbeat of the agent */
  const runIfDue = async (agent: Agent, everyMs: number): Promise<number> => {
    const last = (await store.getState(stateOwner, agent.id)) as Timestamp | undefined
    const at = now()
    // A later one means that the clock was set back.
    const isFirst = last === undefined || last > at
    if (!isFirst && at < last + everyMs) return last + everyMs - at
    if (isClosed || !leadership.isHeld()) return everyMs
    await store.setState(stateOwner, agent.id, at)
    if (!isFirst) await runPeriodic(agent)
    return everyMs
  }

  const startPeriodic = (agent: Agent): void => {
    const everyMs = parseDuration(agent.heartbeat.every) ?? 0
    if (!agent.hasHeartbeat || everyMs === 0) return
    const poller = createPoller({
      claim: async () => {
        poller.notifyIn(Math.min(await runIfDue(agent, everyMs), maxWaitMs))
      },
      retryMs,
      log,
    })
    pollers.push(poller)
    poller.notify()
  }

  return {
    start: () => {
      unsubscribe = events.onWake(onWake)
      for (const agent of agents.all) startPeriodic(agent)
      // If the store cannot be read now, the next look finds them.
      const look = (): void => void findMissedWakes().catch(() => undefined)
      timer = setInterval(look, missedWakesMs).unref()
      look()
    },
    close: () => {
      isClosed = true
      unsubscribe?.()
      clearInterval(timer)
      for (const poller of pollers) void poller.close()
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
  const keyOf = (agent: Agent, sessionKey: string): string => JSON.stringify([agent.id, sessionKey])
  return {
    has: (agent: Agent, sessionKey: string): boolean => heartbeats.has(keyOf(agent, sessionKey)),
    get(agent: Agent, sessionKey: string): SessionHeartbeat {
      const key = keyOf(agent, sessionKey)
      const known = heartbeats.get(key)
      if (known) return known
      const onIdle = () => heartbeats.delete(key)
      const created = createSessionHeartbeat(deps, {
        agent,
        sessionKey,
        outages: outages.get(agent.id) as HeartbeatOutages,
        onIdle,
      })
      heartbeats.set(key, created)
      return created
    },
    close: () => {
      for (const heartbeat of heartbeats.values()) heartbeat.close()
    },
  }
}
