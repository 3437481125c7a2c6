// The verbs that a tool finds in its context, bound to whoever calls it.
import type { Post } from '../delivery/post.ts'
import type { GatewayVerbs, SessionsView, ToolVerbs } from '../plugin.ts'
import { resolveSession } from '../tools/session.ts'
import { createWorkspace } from '../tools/workspace.ts'
import type { Agents } from './agents.ts'
import type { Caller } from './lineage.ts'
import type { Schedules } from './schedules.ts'
import type { StartedRuns } from './started-runs.ts'

interface VerbsDeps {
  agents: Agents
  sessions: SessionsView
  startedRuns: StartedRuns
  post: Post
  schedules: Schedules
  gateway: GatewayVerbs
}

export function createVerbs(deps: VerbsDeps): (caller: Caller) => ToolVerbs {
  const { agents, sessions, startedRuns, post, schedules, gateway } = deps
  const workspaces = new Map(agents.all.map((agent) => [agent.id, createWorkspace(agent.workspace)]))
  const listed = agents.all.map(({ id, name, model, mainSession }) => ({ id, name, default: id === agents.default.id, model, mainSession }))
  return (caller) => {
    const { agentId, sessionKey } = caller.subject
    const agent = agents.get(agentId)
    const keyOf = (key: string): string => resolveSession(agents, key).sessionKey
    return {
      sessions: {
        list: sessions.list,
        status: (key) => sessions.status(keyOf(key)),
        history: (key, options) => sessions.history(keyOf(key), options),
      },
      agents: { list: () => structuredClone(listed) },
      runs: { start: (request) => startedRuns.start(request, caller), wait: startedRuns.wait },
      deliver: (request) => post.send(request, { sessionKey, runId: caller.runId }),
      workspace: workspaces.get(agent.id) ?? createWorkspace(agent.workspace),
      schedules: schedules.verbsFor(caller),
      gateway,
    }
  }
}
