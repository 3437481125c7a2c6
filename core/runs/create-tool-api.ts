// The tool API as a tool finds it in its context, bound to its caller.
import type { ReplyRun, ToolDelivery } from '../delivery/tool-delivery.ts'
import type { GatewayApi, SessionsView, ToolApi, ScheduleApi } from '../plugin.ts'
import { resolveSession } from '../tools/session.ts'
import { createWorkspace } from '../tools/workspace.ts'
import { isFromHook } from '../store/run-spec.ts'
import type { Store } from '../store/store.ts'
import type { Agents } from '../agents/agents.ts'
import type { Caller } from './provenance.ts'
import type { SubagentRuns } from './subagents.ts'

interface ToolApiDeps {
  store: Pick<Store, 'getRun' | 'getExposure'>
  agents: Agents
  sessions: SessionsView
  subagentRuns: SubagentRuns
  toolDelivery: ToolDelivery
  schedules: { apiFor(caller: Caller): ScheduleApi }
  gateway: GatewayApi
}

export function createToolApi(deps: ToolApiDeps): (caller: Caller) => ToolApi {
  const { store, agents, sessions, subagentRuns, toolDelivery, schedules, gateway } = deps
  const workspaces = new Map(agents.all.map((agent) => [agent.id, createWorkspace(agent.workspace)]))
  const listed = agents.all.map(({ id, name, model, mainSession }) => ({
    id,
    name,
    default: id === agents.default.id,
    model,
    mainSession,
  }))
  return (caller) => {
    const { agentId, sessionKey } = caller.subject
    const agent = agents.get(agentId)
    const keyOf = (key: string): string => resolveSession(agents, key).sessionKey
    /** What was said in a session that holds external content is external content for whoever reads it. */
    const tellExternal = async (key: string | undefined): Promise<void> => {
      if (caller.onExternalContent && key !== undefined && (await store.getExposure(key)))
        await caller.onExternalContent()
    }
    const replyRoutes = async (): Promise<ReplyRun> => {
      const run = caller.runId === undefined ? undefined : await store.getRun(caller.runId)
      const { deliver: reply = null, origin } = run?.spec ?? {}
      // What a webhook has said in a session of people is not meant for them.
      return { sessionKey, reply, answersSession: origin !== undefined && !isFromHook(origin) && !origin.initiators }
    }
    return {
      sessions: {
        list: sessions.list,
        status: (key) => sessions.status(keyOf(key)),
        history: async (key, options) => {
          const messages = await sessions.history(keyOf(key), options)
          if (messages?.length) await tellExternal(keyOf(key))
          return messages
        },
      },
      agents: { list: () => structuredClone(listed) },
      runs: {
        start: (request) => subagentRuns.start(request, caller),
        wait: async (runId, ms) => {
          const report = await subagentRuns.wait(runId, ms)
          if (report?.reply !== undefined) await tellExternal((await store.getRun(runId))?.sessionKey)
          return report
        },
      },
      deliver: (request) => toolDelivery.send(request, { sessionKey, runId: caller.runId }),
      isReplyRoute: async (request) => toolDelivery.isReplyRoute(request, await replyRoutes()),
      workspace: workspaces.get(agent.id) ?? createWorkspace(agent.workspace),
      schedules: schedules.apiFor(caller),
      gateway,
    }
  }
}
