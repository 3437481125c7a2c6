// The heartbeat: a periodic check of an agent's main session, the one subscriber of the wake signal, and what a bell in
// another session sets off.
import { parseDuration } from '../config/duration.ts'
import { describeError } from '../errors.ts'
import { createOutage, type Outage } from '../outage.ts'
import type { Log } from '../plugin.ts'
import type { Events } from '../sessions/events.ts'
import type { Store } from '../store/store.ts'
import { minutesUntilActive } from './active-hours.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import { createNotesOutage, heartbeatNotes } from '../agents/prompt.ts'
import type { Runs } from '../runs/runs.ts'
import { heartbeatSpec } from '../agents/heartbeat-spec.ts'

export interface Heartbeat {
  start(): void
  close(): void
}

interface HeartbeatDeps {
  agents: Agents
  events: Events
  runs: Runs
  store: Pick<Store, 'countWaitingEvents' | 'listWaitingWakes'>
  createId: () => string
  maxAttempts: number
  log: Log
}

/** Wakes within this time count as one. */
const coalesceMs = 250
/**
 * After a beat that failed while events wait, it beats again: first after this time, then after twice as long each
 * time.
 */
const firstPauseMs = 60_000
const longestPauseMs = 30 * 60_000
/** Outside active hours, how long a wake waits before it looks at the clock again. */
const longestNapMs = 15 * 60_000

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { agents, events, store } = deps
  const hearts = createHearts(deps)
  const periodic: NodeJS.Timeout[] = []
  let unsubscribe: (() => void) | undefined
  let closed = false

  const onWake: Parameters<Events['onWake']>[0] = ({ sessionKey, agentId }) => {
    const agent = agentId === undefined ? ownerOf(agents, sessionKey) : agents.all.find(({ id }) => id === agentId)
    if (agent) hearts.of(agent, sessionKey).wake(coalesceMs)
  }

  /** The main session, and every other one in which events wait for this agent. */
  const beatEverywhere = async (agent: Agent): Promise<void> => {
    hearts.of(agent, agent.mainSession).wake(0)
    const wakes = await store.listWaitingWakes()
    for (const { agentId, sessionKey } of wakes)
      if (agentId === agent.id && !closed) hearts.of(agent, sessionKey).wake(0)
  }

  return {
    start: () => {
      unsubscribe = events.onWake(onWake)
      for (const agent of agents.all) {
        const everyMs = parseDuration(agent.heartbeat.every) ?? 0
        if (!agent.beats || everyMs === 0) continue
        const beat = () =>
          void beatEverywhere(agent).catch((error: unknown) => hearts.outagesOf(agent).beat.failed(error))
        periodic.push(setInterval(beat, everyMs).unref())
      }
    },
    close: () => {
      closed = true
      unsubscribe?.()
      for (const timer of periodic) clearInterval(timer)
      hearts.close()
    },
  }
}

/** In global scope all agents share one main session: its wakes go to the default agent. */
function ownerOf(agents: Agents, sessionKey: string): Agent | undefined {
  const owner = [agents.default, ...agents.all].find(({ mainSession }) => mainSession === sessionKey)
  return owner?.beats ? owner : undefined
}

/** One heart for each agent and session in which it has something to do. */
function createHearts(deps: HeartbeatDeps) {
  const hearts = new Map<string, Heart>()
  const outages = new Map(deps.agents.all.map(({ id }) => [id, createOutages(id, deps.log)]))
  const outagesOf = ({ id }: Agent): Outages => outages.get(id) as Outages
  return {
    outagesOf,
    of(agent: Agent, sessionKey: string): Heart {
      const key = JSON.stringify([agent.id, sessionKey])
      const heart =
        hearts.get(key) ??
        createHeart(deps, { agent, sessionKey, outages: outagesOf(agent), rested: () => hearts.delete(key) })
      hearts.set(key, heart)
      return heart
    },
    close: () => {
      for (const heart of hearts.values()) heart.close()
    },
  }
}

/** What fails again and again is logged once. */
interface Outages {
  beat: Outage
  notes: Outage
}

const createOutages = (agentId: string, log: Log): Outages => ({
  beat: createOutage(log, {
    failed: 'heartbeat failed; it is tried again',
    worked: 'the heartbeat beats again',
    describe: (error) => ({ agentId, ...describeError(error) }),
  }),
  notes: createNotesOutage(agentId, log),
})

interface HeartSeed {
  agent: Agent
  sessionKey: string
  outages: Outages
  /** It has beaten, and nobody has rung it meanwhile. */
  rested(): void
}

interface Heart {
  /** Beats in `ms`, or right after the beat that is under way. */
  wake(ms: number): void
  close(): void
}

function createHeart(deps: HeartbeatDeps, seed: HeartSeed): Heart {
  const { agent, outages, rested } = seed
  const alarm = createAlarm(() => void beat())
  let beating = false
  let wokenMeanwhile = false
  let failures = 0
  let closed = false

  const wake = (ms: number): void => {
    if (beating) wokenMeanwhile = true
    else if (!closed) alarm.set(ms)
  }

  const beat = async (): Promise<void> => {
    const wait = minutesUntilActive(agent.heartbeat.activeHours, new Date())
    // The wall clock may jump on the way (daylight saving, a machine that slept), so it is looked at again now and
    // then.
    if (wait > 0) return wake(Math.min(wait * 60_000, longestNapMs))
    beating = true
    const done = await beatAll()
    beating = false
    failures = done ? 0 : failures + 1
    if (wokenMeanwhile) wake(coalesceMs)
    else if (!done) wake(Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs))
    else rested()
    wokenMeanwhile = false
  }

  /**
   * What one bounded batch of events left over is served by the next beat. False: events wait that could not be shown.
   */
  const beatAll = async (): Promise<boolean> => {
    try {
      for (;;) {
        const end = await beatOnce(deps, seed)
        outages.beat.worked({ agentId: agent.id })
        if (closed || end !== 'more') return end !== 'failed'
      }
    } catch (error) {
      outages.beat.failed(error)
      return false
    }
  }

  return {
    wake,
    close: () => {
      closed = true
      alarm.clear()
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

/**
 * One beat; `more` when it rendered events and others still wait, `failed` when it left them. Nothing to look at: no
 * run, no model call.
 */
async function beatOnce(
  deps: HeartbeatDeps,
  { agent, sessionKey, outages }: HeartSeed,
): Promise<'done' | 'more' | 'failed'> {
  const waiting = await deps.store.countWaitingEvents(sessionKey)
  if (waiting === 0 && !(await heartbeatNotes(agent, sessionKey, outages.notes))) return 'done'
  const id = deps.createId()
  const spec = heartbeatSpec(agent.id, agent.heartbeat)
  const run = { id, kind: 'heartbeat', agentId: agent.id, sessionKey, spec, maxAttempts: deps.maxAttempts } as const
  await deps.runs.accept({ at: Date.now(), runs: [run] })
  const ended = await deps.runs.ended(id, Number.POSITIVE_INFINITY)
  if (ended?.status !== 'succeeded') return waiting > 0 ? 'failed' : 'done'
  const left = await deps.store.countWaitingEvents(sessionKey)
  return left > 0 && left < waiting ? 'more' : 'done'
}
