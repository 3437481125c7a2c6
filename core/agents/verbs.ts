// The verbs that a tool finds in its context, bound to whoever calls it.
import type { Post, ReplyRoutes } from '../delivery/post.ts'
import type { GatewayVerbs, SessionsView, ToolVerbs } from '../plugin.ts'
import { resolveSession } from '../tools/session.ts'
import { createWorkspace } from '../tools/workspace.ts'
import { isFromHook } from '../store/run-spec.ts'
import type { Store } from '../store/store.ts'
import type { Agents } from './agents.ts'
import type { Caller } from './lineage.ts'
import type { Schedules } from './schedules.ts'
import type { StartedRuns } from './started-runs.ts'

interface VerbsDeps {
  store: Pick<Store, 'getRun' | 'getExposure'>
  agents: Agents
  sessions: SessionsView
  startedRuns: StartedRuns
  post: Post
  schedules: Schedules
  gateway: GatewayVerbs
}

export function createVerbs(deps: VerbsDeps): (caller: Caller) => ToolVerbs {
  const { store, agents, sessions, startedRuns, post, schedules, gateway } = deps
  const workspaces = new Map(agents.all.map((agent) => [agent.id, createWorkspace(agent.workspace)]))
  const listed = agents.all.map(({ id, name, model, mainSession }) => ({ id, name, default: id === agents.default.id, model, mainSession }))
  return (caller) => {
    const { agentId, sessionKey } = caller.subject
    const agent = agents.get(agentId)
    const keyOf = (key: string): string => resolveSession(agents, key).sessionKey
    /** What was said in a session that holds external content is external content for whoever reads it. */
    const tellExternal = async (key: string | undefined): Promise<void> => {
      if (caller.onExternalContent && key !== undefined && (await store.getExposure(key))) await caller.onExternalContent()
    }
    const replyRoutes = async (): Promise<ReplyRoutes> => {
      const run = caller.runId === undefined ? undefined : await store.getRun(caller.runId)
      const { deliver: reply = null, origin } = run?.spec ?? {}
      // What a webhook has said in a session of people is not meant for them.
      return { sessionKey, reply, answersSession: origin !== undefined && !isFromHook(origin) && !origin.starters }
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
        start: (request) => startedRuns.start(request, caller),
        wait: async (runId, ms) => {
          const report = await startedRuns.wait(runId, ms)
          if (report?.reply !== undefined) await tellExternal((await store.getRun(runId))?.sessionKey)
          return report
        },
      },
      deliver: (request) => post.send(request, { sessionKey, runId: caller.runId }),
      isReplyRoute: async (request) => post.isReplyRoute(request, await replyRoutes()),
      workspace: workspaces.get(agent.id) ?? createWorkspace(agent.workspace),
      schedules: schedules.verbsFor(caller),
      gateway,
    }
  }
}
