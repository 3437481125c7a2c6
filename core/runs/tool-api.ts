// Creates the tool API that a tool gets in its context, bound to the caller.
import type { ToolDelivery, ReplyRun } from '../delivery/tool-delivery.ts'
import type { AgentSummary, GatewayApi, ScheduleApi, ToolApi } from '../plugin/plugin.ts'
import type { Reach } from '../tools/reach.ts'
import type { AllSessions } from '../sessions/sessions.ts'
import { locateSession } from '../tools/session.ts'
import { createWorkspace } from '../tools/workspace.ts'
import { isFromHook } from '../store/run-spec.ts'
import type { Store } from '../store/store.ts'
import { createTraceHeaders } from '../telemetry/trace-context.ts'
import type { Agents } from '../agents/agents.ts'
import { type Caller, createSender } from './provenance.ts'
import type { SubagentRuns } from './subagents.ts'

interface ToolApiDeps {
  store: Pick<Store, 'getRun' | 'getExposure'>
  agents: Agents
  sessions: AllSessions
  subagentRuns: SubagentRuns
  toolDelivery: ToolDelivery
  schedules: { apiFor(caller: Caller): ScheduleApi }
  /** Returns the API on behalf of the caller. */
  gatewayFor(caller: Caller): GatewayApi
  reach: Reach
  /** The hosts of web pages that get the trace of a call. */
  traceHosts: readonly string[]
}

export function createToolApi(deps: ToolApiDeps): (caller: Caller) => ToolApi {
  const { store, agents, sessions, subagentRuns, toolDelivery, schedules, gatewayFor, reach } = deps
  return (caller) => {
    const { agentId } = caller.subject
    const workspace = createWorkspace(agents.get(agentId).workspace)
    const sender = createSender(caller)
    const reaches = (id: string): boolean => reach(caller.subject, id)
    const reachable = (): string[] | undefined => {
      const ids = agents.all.map(({ id }) => id)
      return ids.every(reaches) ? undefined : ids.filter(reaches)
    }
    const locate = (key: string) => locateSession(agents, key)
    /** Reading a session that holds external content exposes the caller to that content. */
    const reportExternalContent = async (key: string | undefined): Promise<void> => {
      if (caller.onExternalContent && key !== undefined && (await store.getExposure(key)))
        await caller.onExternalContent()
    }
    const resolveReplyRun = async (): Promise<ReplyRun> => {
      const run = caller.runId === undefined ? undefined : await store.getRun(caller.runId)
      const { deliver: reply = null, origin } = run?.spec ?? {}
      // A webhook run does not answer the people of its session, even if they wrote there before.
      return { reply, answersSession: origin !== undefined && !isFromHook(origin) && !origin.initiators }
    }
    return {
      sessions: {
        list: (filter) => sessions.list({ ...filter, agents: reachable() }),
        status: async (key) => {
          const { agentId, sessionKey } = locate(key)
          return reaches(agentId) ? await sessions.status(sessionKey) : undefined
        },
        history: async (key, options) => {
          const { agentId, sessionKey } = locate(key)
          if (!reaches(agentId)) return undefined
          const messages = await sessions.history(sessionKey, options)
          if (messages?.length) await reportExternalContent(sessionKey)
          return messages
        },
      },
      agents: { list: () => listAgents(agents).filter(({ id }) => reaches(id)) },
      runs: {
        start: (request) => subagentRuns.start(request, caller),
        wait: async (runId, ms) => {
          const run = await store.getRun(runId)
          if (!run || !reaches(run.agentId)) return undefined
          const report = await subagentRuns.wait(runId, ms)
          if (report?.reply !== undefined) await reportExternalContent(run.sessionKey)
          return report
        },
      },
      deliver: (request) => toolDelivery.send(request, { ...sender, workspace }),
      isReplyRoute: async (target) => toolDelivery.isReplyRoute(target, sender, await resolveReplyRun()),
      workspace,
      schedules: schedules.apiFor(caller),
      gateway: gatewayFor(caller),
      traceHeaders: createTraceHeaders(caller.trace, deps.traceHosts),
    }
  }
}

const listAgents = (agents: Agents): AgentSummary[] =>
  agents.all.map(({ id, name, model, mainSession }) => ({
    id,
    name,
    default: id === agents.default.id,
    model,
    mainSession,
  }))
