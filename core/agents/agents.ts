// Resolves the configured agents and their settings.
import { join, resolve } from 'node:path'
import { agentIdsOf, defaultAgentId } from '../config/schema/agents.ts'
import type { Config, ModelEntry } from '../config/schema/schema.ts'
import type { HistoryLimits } from './history.ts'
import { mainSessionKey } from '../sessions/keys.ts'

type Defaults = Config['agents']['defaults']
export type HeartbeatConfig = Defaults['heartbeat']

export interface Agent {
  id: string
  name: string
  /** The folder of the agent's files, absolute. */
  workspace: string
  /** `<provider>/<model>` or an alias. */
  model: string
  /** The models that a request may ask for. Absent: any model. */
  models: Defaults['models']
  /** Entries of models in which prices are looked up. Those of the agent take precedence over the defaults. */
  priced: readonly ModelEntry[]
  /** The configuration key that lists those models. */
  modelsKey: string
  thinking: Defaults['thinking']
  systemPrompt: string | undefined
  timeoutSeconds: number
  /** The maximum number of calls of the model in a run. */
  maxSteps: number
  /** The maximum number of messages that the tools of a run and of its subagents send. */
  maxMessages: number
  /** The maximum number of approvals that a run and its subagents ask for. */
  maxApprovals: number
  /** The maximum number of runs that the tools of a run and of its subagents start. */
  maxStartedRuns: number
  /** The maximum number of tokens that a call of the model may write. Absent: as many as the model can. */
  maxOutputTokens: number | undefined
  /** How much of a session's transcript the model sees. */
  history: HistoryLimits
  /** How runs are retried after a transient failure of the model. */
  retry: Defaults['retry']
  heartbeat: HeartbeatConfig
  /** False: the agent has no periodic heartbeat. Only a wake that names the agent starts one. */
  hasHeartbeat: boolean
  /** How many characters a reply may have beside its acknowledgement and still count as one. */
  ackMaxChars: number
  mainSession: string
}

export interface Agents {
  default: Agent
  all: readonly Agent[]
  /** Returns the default agent for an unknown id. */
  get(id: string | undefined): Agent
  /** Undefined if the configuration has no such agent. */
  find(id: string): Agent | undefined
}

export function createAgents(config: Config, dir: string): Agents {
  const defaultId = defaultAgentId(config.agents)
  const all = agentIdsOf(config.agents).map((id) => createAgent({ config, dir, id, isDefault: id === defaultId }))
  const byId = new Map(all.map((agent) => [agent.id, agent]))
  const fallback = byId.get(defaultId) as Agent
  return {
    default: fallback,
    all,
    get: (id) => (id === undefined ? fallback : (byId.get(id.trim().toLowerCase()) ?? fallback)),
    find: (id) => byId.get(id),
  }
}

interface AgentSeed {
  config: Config
  dir: string
  id: string
  isDefault: boolean
}

function createAgent({ config, dir, id, isDefault }: AgentSeed): Agent {
  const { defaults } = config.agents
  const own: Partial<Config['agents'][string]> = config.agents[id] ?? {}
  // Other agents need a `heartbeat` section of their own, so that adding an agent does not double the bill.
  const hasHeartbeat = isDefault || own.heartbeat !== undefined
  return {
    id,
    name: own.name ?? id,
    workspace: resolve(dir, own.workspace ?? defaultWorkspace(defaults.workspace, id, isDefault)),
    model: own.model ?? defaults.model,
    models: own.models ?? defaults.models,
    priced: [...(own.models ?? []), ...(defaults.models ?? [])],
    modelsKey: `agents.${own.models ? id : 'defaults'}.models`,
    thinking: own.thinking ?? defaults.thinking,
    systemPrompt: own.systemPrompt ?? defaults.systemPrompt,
    timeoutSeconds: own.timeoutSeconds ?? defaults.timeoutSeconds,
    maxSteps: own.maxSteps ?? defaults.maxSteps,
    maxMessages: own.maxMessages ?? defaults.maxMessages,
    maxApprovals: own.maxApprovals ?? defaults.maxApprovals,
    maxStartedRuns: own.maxStartedRuns ?? defaults.maxStartedRuns,
    maxOutputTokens: own.maxOutputTokens ?? defaults.maxOutputTokens,
    history: {
      turns: own.historyTurns ?? defaults.historyTurns ?? config.session.historyTurns,
      tokens: own.historyTokens ?? defaults.historyTokens ?? config.session.historyTokens,
    },
    retry: { ...defaults.retry, ...own.retry },
    heartbeat: { ...defaults.heartbeat, ...own.heartbeat },
    hasHeartbeat,
    ackMaxChars: own.heartbeat?.ackMaxChars ?? defaults.heartbeat.ackMaxChars,
    mainSession: mainSessionKey(config, id),
  }
}

function defaultWorkspace(configured: string | undefined, id: string, isDefault: boolean): string {
  if (configured === undefined) return join('state', 'workspaces', id)
  return isDefault ? configured : join(configured, id)
}
