// The heartbeat: a periodic check of an agent's main session, and the one listener of the bell.
import { parseDuration } from '../config/duration.ts'
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin.ts'
import type { Events } from '../sessions/events.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { Store } from '../store/store.ts'
import { minutesUntilActive } from './active-hours.ts'
import type { Agent, Agents, HeartbeatConfig } from './agents.ts'
import { createNotesOutage, defaultHeartbeatPrompt, heartbeatNotes } from './prompt.ts'
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
/** After a beat that failed while events wait, it beats again: first after this time, then after twice as long each time. */
const firstPauseMs = 60_000
const longestPauseMs = 30 * 60_000
/** Outside active hours, how long a bell waits before it looks at the clock again. */
const longestNapMs = 15 * 60_000

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const hearts = deps.agents.all.flatMap((agent) => (agent.heartbeat ? [createHeart(deps, agent, agent.heartbeat)] : []))
  const onBell = (sessionKey: string): void => {
    // In global scope all agents share one main session: its bell is the default agent's.
    const agents = [deps.agents.default, ...deps.agents.all]
    const rung = agents.find((agent) => agent.mainSession === sessionKey)
    hearts.find((heart) => heart.agent === rung)?.ring(coalesceMs)
  }
  let unsubscribe: (() => void) | undefined
  return {
    start: () => {
      unsubscribe = deps.events.onBell(onBell)
      for (const heart of hearts) heart.start()
    },
    close: () => {
      unsubscribe?.()
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
  const beatOnce = createBeat(deps, agent, config)
  const outage = createOutage(deps.log, { failed: 'heartbeat failed; it is tried again', worked: 'the heartbeat beats again' })
  const alarm = createAlarm(() => void beat())
  let periodic: NodeJS.Timeout | undefined
  let beating = false
  let rungMeanwhile = false
  let failures = 0
  let closed = false

  const ring = (ms: number): void => {
    if (beating) rungMeanwhile = true
    else if (!closed) alarm.set(ms)
  }

  const beat = async (): Promise<void> => {
    const wait = minutesUntilActive(config.activeHours, new Date())
    // The wall clock may jump on the way (daylight saving, a machine that slept), so it is looked at again now and then.
    if (wait > 0) return ring(Math.min(wait * 60_000, longestNapMs))
    beating = true
    const done = await beatAll()
    beating = false
    failures = done ? 0 : failures + 1
    if (rungMeanwhile) ring(coalesceMs)
    else if (!done) ring(Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs))
    rungMeanwhile = false
  }

  /** What one bounded batch of events left over is served by the next beat. False: events wait that could not be shown. */
  const beatAll = async (): Promise<boolean> => {
    try {
      for (;;) {
        const end = await beatOnce()
        outage.worked({ agentId: agent.id })
        if (closed || end !== 'more') return end !== 'failed'
      }
    } catch (error) {
      outage.failed(error, { agentId: agent.id })
      return false
    }
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
      alarm.clear()
      clearInterval(periodic)
    },
  }
}

/** Goes off once, at the earliest of the times it was set to. */
function createAlarm(goOff: () => void) {
  let timer: NodeJS.Timeout | undefined
  let setTo = Number.POSITIVE_INFINITY
  const clear = (): void => {
    clearTimeout(timer)
    setTo = Number.POSITIVE_INFINITY
  }
  const set = (ms: number): void => {
    const at = performance.now() + ms
    if (at >= setTo) return
    clear()
    setTo = at
    timer = setTimeout(() => {
      clear()
      goOff()
    }, ms).unref()
  }
  return { set, clear }
}

/** One beat; `more` when it rendered events and others still wait, `failed` when it left them. Nothing to look at: no run, no model call. */
function createBeat(deps: HeartbeatDeps, agent: Agent, config: HeartbeatConfig): () => Promise<'done' | 'more' | 'failed'> {
  const outage = createNotesOutage(agent.id, deps.log)
  return async () => {
    const waiting = await deps.store.countWaitingEvents(agent.mainSession)
    if (waiting === 0 && !(await heartbeatNotes(agent, outage))) return 'done'
    const id = deps.createId()
    const spec = heartbeatSpec(agent.id, config)
    const run = { id, kind: 'heartbeat', agentId: agent.id, sessionKey: agent.mainSession, spec, maxAttempts: deps.maxAttempts } as const
    await deps.runs.accept({ at: Date.now(), runs: [run] })
    const ended = await deps.runs.ended(id, Number.POSITIVE_INFINITY)
    if (ended?.status !== 'succeeded') return waiting > 0 ? 'failed' : 'done'
    const left = await deps.store.countWaitingEvents(agent.mainSession)
    return left > 0 && left < waiting ? 'more' : 'done'
  }
}

/** What a periodic check asks of its agent. */
export const heartbeatSpec = (agentId: string, { prompt, model, target, to }: HeartbeatConfig): RunSpec => ({
  message: prompt ?? defaultHeartbeatPrompt,
  origin: { kind: 'heartbeat', name: agentId, trusted: true },
  model,
  deliver: target === 'none' ? null : { channel: target, to },
  wakeMode: 'next-heartbeat',
})
