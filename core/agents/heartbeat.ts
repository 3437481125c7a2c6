// The heartbeat: a periodic check of an agent's main session, and the one listener of the bell.
import { parseDuration } from '../config/duration.ts'
import type { Log } from '../plugin.ts'
import type { Events } from '../sessions/events.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { Store } from '../store/store.ts'
import { minutesUntilActive } from './active-hours.ts'
import type { Agent, Agents, HeartbeatConfig } from './agents.ts'
import { defaultHeartbeatPrompt, heartbeatNotes } from './prompt.ts'
import type { Runs } from './runs.ts'

export interface Heartbeat {
  start(): void
  close(): void
}

interface HeartbeatDeps {
  agents: Agents
  events: Events
  runs: Runs
  store: Pick<Store, 'countWaitingEvents'>
  createId: () => string
  maxAttempts: number
  log: Log
}

/** Bells rung within this time are one. */
const coalesceMs = 250
/** Outside active hours, how long a bell waits before it looks at the clock again. */
const longestNapMs = 15 * 60_000

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const hearts = deps.agents.all.flatMap((agent) => (agent.heartbeat ? [createHeart(deps, agent, agent.heartbeat)] : []))
  deps.events.onBell((sessionKey) => {
    // In global scope all agents share one main session: its bell is the default agent's.
    const agents = [deps.agents.default, ...deps.agents.all]
    const rung = agents.find((agent) => agent.mainSession === sessionKey)
    hearts.find((heart) => heart.agent === rung)?.ring(coalesceMs)
  })
  return {
    start: () => {
      for (const heart of hearts) heart.start()
    },
    close: () => {
      for (const heart of hearts) heart.close()
    },
  }
}

interface Heart {
  agent: Agent
  start(): void
  /** Beats in `ms`, or right after the beat that is under way. */
  ring(ms: number): void
  close(): void
}

function createHeart(deps: HeartbeatDeps, agent: Agent, config: HeartbeatConfig): Heart {
  const everyMs = parseDuration(config.every) ?? 0
  let bell: NodeJS.Timeout | undefined
  let periodic: NodeJS.Timeout | undefined
  let beating = false
  let rungMeanwhile = false
  let closed = false

  const ring = (ms: number): void => {
    if (beating) rungMeanwhile = true
    else if (!closed) bell ??= setTimeout(() => void beat(), ms).unref()
  }

  const beat = async (): Promise<void> => {
    bell = undefined
    const wait = minutesUntilActive(config.activeHours, new Date())
    // The wall clock may jump on the way (daylight saving, a machine that slept), so it is looked at again now and then.
    if (wait > 0) return ring(Math.min(wait * 60_000, longestNapMs))
    beating = true
    try {
      // What one bounded batch of events left over is served by the next beat.
      while (!closed && (await beatOnce(deps, agent, config)) === 'more') continue
    } catch (error) {
      deps.log.error({ agentId: agent.id, error: (error as Error).name }, 'heartbeat failed')
    } finally {
      beating = false
    }
    if (rungMeanwhile) ring(coalesceMs)
    rungMeanwhile = false
  }

  const start = (): void => {
    if (everyMs === 0) return
    periodic = setInterval(() => ring(0), everyMs).unref()
  }

  return {
    agent,
    ring,
    start,
    close: () => {
      closed = true
      clearTimeout(bell)
      clearInterval(periodic)
    },
  }
}

/** One beat; `more` when it rendered events and others still wait. Nothing to look at: no run, no model call. */
async function beatOnce(deps: HeartbeatDeps, agent: Agent, config: HeartbeatConfig): Promise<'done' | 'more'> {
  const waiting = await deps.store.countWaitingEvents(agent.mainSession)
  if (waiting === 0 && !(await heartbeatNotes(agent))) return 'done'
  const id = deps.createId()
  const spec: RunSpec = {
    message: config.prompt ?? defaultHeartbeatPrompt,
    origin: { kind: 'heartbeat', name: agent.id, trusted: true },
    model: config.model,
    deliver: config.target === 'none' ? null : { channel: config.target, to: config.to },
    wakeMode: 'next-heartbeat',
  }
  const run = { id, kind: 'heartbeat', agentId: agent.id, sessionKey: agent.mainSession, spec, maxAttempts: deps.maxAttempts } as const
  await deps.runs.accept({ at: Date.now(), runs: [run] })
  const ended = await deps.runs.ended(id, Number.POSITIVE_INFINITY)
  if (ended?.status !== 'succeeded') return 'done'
  const left = await deps.store.countWaitingEvents(agent.mainSession)
  return left > 0 && left < waiting ? 'more' : 'done'
}
