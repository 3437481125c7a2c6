// Runs that tools start: a subagent's in a session of its own, or a message to a session that is there; both within
// limits.
import { InputError, type RunReport, type RunRequest } from '../plugin.ts'
import { agentSessionKey } from '../sessions/keys.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { NewRun, Store, StoredRun } from '../store/store.ts'
import { resolveSession } from '../tools/session.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import { type Caller, type Provenance, resolveProvenance } from './provenance.ts'
import type { Models } from '../agents/models.ts'
import type { Runs } from './runs.ts'

export interface SubagentRuns {
  start(request: RunRequest, caller: Caller): Promise<{ runId: string; sessionKey: string }>
  wait(runId: string, ms: number): Promise<RunReport | undefined>
}

interface SubagentRunsDeps {
  store: Pick<Store, 'getRun' | 'getSession' | 'getExposure' | 'countWaitingEvents'>
  runs: Pick<Runs, 'accept' | 'ended'>
  agents: Agents
  models: Models
  createId: () => string
  limits: { maxDepth: number; maxActive: number }
  maxAttempts: number
}

export function createSubagentRuns(deps: SubagentRunsDeps): SubagentRuns {
  const { runs, limits } = deps
  /** Runs under way, by the session whose tools started them. */
  const active = new Map<string, number>()
  const count = (sessionKey: string, change: number): void => {
    const now = (active.get(sessionKey) ?? 0) + change
    if (now > 0) active.set(sessionKey, now)
    else active.delete(sessionKey)
  }

  return {
    start: async (request, caller) => {
      const by = caller.subject.sessionKey
      if ((active.get(by) ?? 0) >= limits.maxActive) {
        throw new InputError(
          `This session has ${limits.maxActive} runs of its own under way, which is the most; wait for one of them.`,
        )
      }
      // Counted before anything is awaited, so that calls side by side count each other.
      count(by, 1)
      try {
        const run = await createRun(deps, request, caller)
        await runs.accept({ at: Date.now(), runs: [run] })
        void runs.ended(run.id, Infinity).then(
          () => count(by, -1),
          () => count(by, -1),
        )
        return { runId: run.id, sessionKey: run.sessionKey }
      } catch (error) {
        count(by, -1)
        throw error
      }
    },
    wait: async (runId, ms) => {
      const run = await runs.ended(runId, ms)
      return run && report(run)
    },
  }
}

async function createRun(deps: SubagentRunsDeps, request: RunRequest, caller: Caller): Promise<NewRun> {
  const provenance = await resolveProvenance(deps, caller)
  const work =
    request.sessionKey === undefined
      ? subagentWork(deps, request, { caller, provenance })
      : await messageWork(deps, request.sessionKey, { caller, provenance })
  const model = request.model?.trim()
  if (model !== undefined) deps.models.requested(model, work.agent)
  const { message, name, timeoutSeconds } = request
  const spec: RunSpec = { message, name, model, timeoutSeconds, deliver: null, wakeMode: 'now', ...work.spec }
  const { agent, sessionKey, unnamedSession } = work
  const { kind } = work.spec.origin
  return {
    id: deps.createId(),
    kind,
    agentId: agent.id,
    sessionKey,
    unnamedSession,
    spec,
    maxAttempts: deps.maxAttempts,
  }
}

interface Work extends Pick<NewRun, 'sessionKey' | 'unnamedSession'> {
  agent: Agent
  spec: Pick<RunSpec, 'summarySession'> & { origin: RunSpec['origin'] & { kind: 'chat' | 'subagent' } }
}

interface Start {
  caller: Caller
  provenance: Provenance
}

function subagentWork(
  { agents, limits, createId }: SubagentRunsDeps,
  { agentId }: RunRequest,
  { caller: { subject }, provenance }: Start,
): Work {
  const id = (agentId ?? subject.agentId).trim().toLowerCase()
  const agent = agents.all.find((one) => one.id === id)
  if (!agent) throw new InputError('agentId names no agent of the configuration; agents_list names them.')
  const depth = (provenance.depth ?? 0) + 1
  if (depth > limits.maxDepth)
    throw new InputError(
      `Subagents may be ${limits.maxDepth} deep (tools.subagents.maxDepth), and this would be one more; do it here.`,
    )
  return {
    agent,
    sessionKey: agentSessionKey(agent.id, `subagent:${createId()}`),
    unnamedSession: true,
    spec: {
      origin: { kind: 'subagent', name: subject.sessionKey, ...provenance, depth },
      summarySession: subject.sessionKey,
    },
  }
}

async function messageWork(
  { agents, store }: SubagentRunsDeps,
  requested: string,
  { caller: { subject }, provenance }: Start,
): Promise<Work> {
  const { agentId, sessionKey } = resolveSession(agents, requested)
  const session = await store.getSession(sessionKey)
  if (
    !session &&
    sessionKey !== agents.get(agentId).mainSession &&
    (await store.countWaitingEvents(sessionKey)) === 0
  ) {
    throw new InputError('There is no session with this sessionKey; sessions_list names those that there are.')
  }
  return {
    agent: agents.get(session?.agentId ?? agentId),
    sessionKey,
    spec: { origin: { kind: 'chat', name: subject.sessionKey, ...provenance } },
  }
}

function report({ id, status, result: { reply, error } }: StoredRun): RunReport {
  return { id, status, ...(reply !== undefined && { reply }), ...(error && { error: error.message }) }
}
