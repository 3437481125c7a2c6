// Starts runs for tools, within limits: a subagent run in a session of its own, or a message to an existing session.
import { InputError, type RunReport, type RunRequest } from '../plugin/plugin.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { agentSessionKey } from '../sessions/keys.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { NewRun, Store, StoredRun } from '../store/store.ts'
import type { Reach } from '../tools/reach.ts'
import { locateSession } from '../tools/session.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import { type Caller, inheritOrigin, type InheritedOrigin } from './provenance.ts'
import type { Models } from '../agents/models.ts'
import type { Runs } from './runs.ts'

export interface SubagentRuns {
  start(request: RunRequest, caller: Caller): Promise<{ runId: string; sessionKey: string }>
  wait(runId: string, ms: number): Promise<RunReport | undefined>
}

interface SubagentRunsDeps {
  store: Pick<Store, 'getRun' | 'getSession' | 'getExposure' | 'countWaitingEvents' | 'countRunsStartedBy'>
  runs: Pick<Runs, 'accept' | 'waitForEnd'>
  agents: Agents
  models: Models
  createId: () => string
  reach: Reach
  limits: { maxDepth: number; maxActive: number }
  maxAttempts: number
}

export function createSubagentRuns(deps: SubagentRunsDeps): SubagentRuns {
  const { store, runs, limits } = deps
  const starts = createSerialQueue()

  async function start(request: RunRequest, caller: Caller): Promise<{ runId: string; sessionKey: string }> {
    if ((await store.countRunsStartedBy(caller.subject.sessionKey)) >= limits.maxActive)
      throw new InputError(
        `A session may have ${limits.maxActive} unfinished runs of its own (tools.subagents.maxActive); ` +
          'wait until one has ended.',
      )
    const run = await createRun(deps, request, caller)
    await runs.accept({ at: Date.now(), runs: [run] }, caller.trace)
    return { runId: run.id, sessionKey: run.sessionKey }
  }

  return {
    // One after the other, so that concurrent calls see each other's runs.
    start: (request, caller) => starts.add(() => start(request, caller)),
    wait: async (runId, ms) => {
      const run = await runs.waitForEnd(runId, ms)
      return run && createReport(run)
    },
  }
}

async function createRun(deps: SubagentRunsDeps, request: RunRequest, caller: Caller): Promise<NewRun> {
  const inherited = await inheritOrigin(deps, caller)
  const work =
    request.sessionKey === undefined
      ? planSubagent(deps, request, { caller, inherited })
      : await planMessage(deps, request.sessionKey, { caller, inherited })
  const model = request.model?.trim()
  if (model !== undefined) deps.models.resolveRequested(model, work.agent)
  const { message, name, timeoutSeconds } = request
  const spec: RunSpec = {
    message,
    name,
    model,
    timeoutSeconds,
    deliver: null,
    wakeMode: 'now',
    parentRunId: caller.runId,
    ...work.spec,
  }
  const { agent, sessionKey, unnamedSession } = work
  const { kind } = work.spec.origin
  return {
    id: deps.createId(),
    kind,
    agentId: agent.id,
    sessionKey,
    unnamedSession,
    startedBy: caller.subject.sessionKey,
    spec,
    maxAttempts: deps.maxAttempts,
  }
}

interface PlannedWork extends Pick<NewRun, 'sessionKey' | 'unnamedSession'> {
  agent: Agent
  spec: Pick<RunSpec, 'summarySession'> & { origin: RunSpec['origin'] & { kind: 'chat' | 'subagent' } }
}

interface StartContext {
  caller: Caller
  inherited: InheritedOrigin
}

function planSubagent(
  { agents, reach, limits, createId }: SubagentRunsDeps,
  { agentId }: RunRequest,
  { caller: { subject }, inherited }: StartContext,
): PlannedWork {
  const id = (agentId ?? subject.agentId).trim().toLowerCase()
  const agent = agents.all.find((one) => one.id === id && reach(subject, id))
  if (!agent) throw new InputError('agentId is not a configured agent; agents_list lists the agents.')
  const depth = (inherited.depth ?? 0) + 1
  if (depth > limits.maxDepth)
    throw new InputError(
      `Subagents may be nested ${limits.maxDepth} deep (tools.subagents.maxDepth); do this work here instead.`,
    )
  return {
    agent,
    sessionKey: agentSessionKey(agent.id, `subagent:${createId()}`),
    unnamedSession: true,
    spec: {
      origin: { kind: 'subagent', name: subject.sessionKey, ...inherited, depth },
      summarySession: subject.sessionKey,
    },
  }
}

async function planMessage(
  { agents, reach, store }: SubagentRunsDeps,
  requested: string,
  { caller: { subject }, inherited }: StartContext,
): Promise<PlannedWork> {
  const { agentId, sessionKey } = locateSession(agents, requested)
  const session = await store.getSession(sessionKey)
  const agent = agents.get(session?.agentId ?? agentId)
  const exists =
    session !== undefined ||
    sessionKey === agents.get(agentId).mainSession ||
    (await store.countWaitingEvents(sessionKey)) > 0
  if (!exists || !reach(subject, agent.id)) {
    throw new InputError('There is no session with this sessionKey; sessions_list lists the sessions.')
  }
  return {
    agent,
    sessionKey,
    spec: { origin: { kind: 'chat', name: subject.sessionKey, ...inherited } },
  }
}

function createReport({ id, status, result: { reply, error } }: StoredRun): RunReport {
  return { id, status, ...(reply !== undefined && { reply }), ...(error && { error: error.message }) }
}
