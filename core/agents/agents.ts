// The configured agents: which one an id means, and what it runs with.
import { join, resolve } from 'node:path'
import { agentIdsOf, defaultAgentId } from '../config/agent-ids.ts'
import type { Config } from '../config/schema.ts'
import { mainSessionKey } from '../sessions/keys.ts'

type Defaults = Config['agents']['defaults']
export type HeartbeatConfig = Defaults['heartbeat']

export interface Agent {
  id: string
  name: string
  /** Folder of the agent's own files. */
  workspace: string
  /** `<provider>/<model>` or an alias. */
  model: string
  /** The models that a request may choose; absent: any. */
  models: Defaults['models']
  /** The key of the configuration that lists them. */
  modelsKey: string
  thinking: Defaults['thinking']
  systemPrompt: string | undefined
  timeoutSeconds: number
  /** What becomes of its runs when the model fails for a passing reason. */
  retry: Defaults['retry']
  heartbeat: HeartbeatConfig
  /** False: this agent has no periodic check, and only a wake that names it makes its heart beat. */
  beats: boolean
  /** How much a reply may say beside its acknowledgement and still be none, in characters. */
  ackMaxChars: number
  mainSession: string
}

export interface Agents {
  default: Agent
  all: readonly Agent[]
  /** An unknown id means the default agent. */
  get(id: string | undefined): Agent
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
  // Without a block of its own only the default agent beats: a second agent does not double the bill by existing.
  const beats = isDefault || own.heartbeat !== undefined
  return {
    id,
    name: own.name ?? id,
    workspace: resolve(dir, own.workspace ?? defaultWorkspace(defaults.workspace, id, isDefault)),
    model: own.model ?? defaults.model,
    models: own.models ?? defaults.models,
    modelsKey: `agents.${own.models ? id : 'defaults'}.models`,
    thinking: own.thinking ?? defaults.thinking,
    systemPrompt: own.systemPrompt ?? defaults.systemPrompt,
    timeoutSeconds: own.timeoutSeconds ?? defaults.timeoutSeconds,
    retry: { ...defaults.retry, ...own.retry },
    heartbeat: { ...defaults.heartbeat, ...own.heartbeat },
    beats,
    ackMaxChars: own.heartbeat?.ackMaxChars ?? defaults.heartbeat.ackMaxChars,
    mainSession: mainSessionKey(config, id),
  }
}

function defaultWorkspace(configured: string | undefined, id: string, isDefault: boolean): string {
  if (configured === undefined) return join('state', 'workspaces', id)
  return isDefault ? configured : join(configured, id)
}
