// Creates the tool API that a tool gets in its context, bound to the caller.
import type { ReplyRun, Sender, ToolDelivery } from '../delivery/tool-delivery.ts'
import { isFileOfStranger } from '../delivery/inbound/attachments.ts'
import type { AgentSummary, GatewayApi, ScheduleApi, ToolApi, Workspace } from '../plugin/plugin.ts'
import type { Reach } from '../tools/reach.ts'
import type { AllSessions } from '../sessions/sessions.ts'
import { locateSession } from '../tools/session.ts'
import type { FileSources } from '../tools/file-sources.ts'
import { createWorkspace } from '../tools/workspace.ts'
import { joinTurn, type Provenance } from '../store/provenance.ts'
import { isFromHook } from '../store/run-spec.ts'
import type { Store } from '../store/store.ts'
import { createTraceHeaders } from '../telemetry/trace-context.ts'
import type { Agents } from '../agents/agents.ts'
import { type Caller, createSender, writtenBy } from './provenance.ts'
import type { RunLimits } from './run-limits.ts'
import type { SubagentRuns } from './subagents.ts'
import { joinEntries } from './turn-context.ts'

interface ToolApiDeps {
  store: Pick<Store, 'getRun' | 'getExposure'>
  files: FileSources
  agents: Agents
  sessions: AllSessions
  subagentRuns: SubagentRuns
  toolDelivery: ToolDelivery
  limits: RunLimits
  schedules: { apiFor(caller: Caller): ScheduleApi }
  /** Returns the API on behalf of the caller. */
  gatewayFor(caller: Caller): GatewayApi
  reach: Reach
  /** The hosts of web pages that get the trace of a call. */
  traceHosts: readonly string[]
}

export function createToolApi(deps: ToolApiDeps): (caller: Caller) => ToolApi {
  const { store, agents, sessions, subagentRuns, toolDelivery, limits, schedules, gatewayFor, reach } = deps
  return (caller) => {
    const { agentId } = caller.subject
    const workspace = trackFiles(deps, createWorkspace(agents.get(agentId).workspace), caller)
    const reaches = (id: string): boolean => reach(caller.subject, id)
    const reachable = (): string[] | undefined => {
      const ids = agents.all.map(({ id }) => id)
      return ids.every(reaches) ? undefined : ids.filter(reaches)
    }
    const locate = (key: string) => locateSession(agents, key)
    const readRun = async () => (caller.runId === undefined ? undefined : await store.getRun(caller.runId))
    const resolveReplyRun = async (): Promise<ReplyRun> => {
      const { deliver: reply = null, origin } = (await readRun())?.spec ?? {}
      // A webhook run does not answer the people of its session, even if they wrote there before.
      return { reply, answersSession: origin !== undefined && !isFromHook(origin) && !origin.initiators }
    }
    const resolveSender = async (): Promise<Sender> => ({
      ...createSender(caller),
      isStranger: (await readRun())?.spec.origin.stranger,
    })
    return {
      sessions: {
        list: async (filter) => {
          const items = await sessions.list({ ...filter, agents: reachable() })
          if (items.some(({ key }) => /:(?:hook|stranger):/.test(key))) await caller.sources?.add(fromSessionKeys)
          return items
        },
        status: async (key) => {
          const { agentId, sessionKey } = locate(key)
          return reaches(agentId) ? await sessions.status(sessionKey) : undefined
        },
        history: async (key, options) => {
          const { agentId, sessionKey } = locate(key)
          if (!reaches(agentId)) return undefined
          const history = await sessions.history(sessionKey, options)
          if (history) await caller.sources?.add(joinEntries(history.entries))
          return history?.messages
        },
      },
      agents: { list: () => listAgents(agents).filter(({ id }) => reaches(id)) },
      runs: {
        start: (request) => limits.within('maxStartedRuns', caller.runId, () => subagentRuns.start(request, caller)),
        wait: async (runId, ms) => {
          const run = await store.getRun(runId)
          if (!run || !reaches(run.agentId)) return undefined
          const report = await subagentRuns.wait(runId, ms)
          const ended = caller.sources && report ? await store.getRun(runId) : undefined
          if (ended?.result.provenance) await caller.sources?.add(joinTurn(ended.result.provenance))
          return report
        },
      },
      deliver: async (request) => {
        const sender = { ...(await resolveSender()), workspace }
        return await limits.within('maxMessages', caller.runId, () => toolDelivery.send(request, sender))
      },
      isReplyRoute: async (target) =>
        await toolDelivery.isReplyRoute(target, await resolveSender(), await resolveReplyRun()),
      isNamedUrl: (url) => caller.sources?.isNamedUrl(url) ?? false,
      workspace,
      schedules: schedules.apiFor(caller),
      gateway: gatewayFor(caller),
      traceHeaders: createTraceHeaders(caller.trace, deps.traceHosts),
    }
  }
}

/** A payload, and the address of a stranger, may choose a part of the session key. */
const fromSessionKeys: Provenance = {
  outside: ['session keys of webhooks and strangers'],
  authors: [],
  isPrivate: false,
}

const fromStranger: Provenance = { outside: ['a file of a stranger'], authors: [], isPrivate: false }

/** A file keeps where its text came from, whoever reads it later. */
function trackFiles(
  { store, files }: Pick<ToolApiDeps, 'store' | 'files'>,
  workspace: Workspace,
  caller: Caller,
): Workspace {
  return {
    ...workspace,
    read: async (path, limit) => {
      const file = await workspace.read(path, limit)
      const provenance = caller.sources && (await files.find(await workspace.path(), path, file))
      if (provenance) await caller.sources?.add(provenance)
      if (isFileOfStranger(path)) await caller.sources?.add(fromStranger)
      return file
    },
    list: async (path) => {
      if (isFileOfStranger(path)) await caller.sources?.add(fromStranger)
      const entries = await workspace.list(path)
      const names = entries.map(({ name }) => name)
      if (caller.sources) await caller.sources.add(await files.findNames(await workspace.path(), path, names))
      return entries
    },
    write: async (path, data) => {
      await files.record(await workspace.path(), path, { data, provenance: await writtenBy(store, caller) })
      await workspace.write(path, data)
    },
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
