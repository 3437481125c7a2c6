// The ids of the configured agents, and the default agent.
import type { AgentsConfig } from './schema/agents.ts'

/** If no agent is configured, there is one called `main`. */
export function agentIdsOf(agents: AgentsConfig): string[] {
  const ids = Object.keys(agents).filter((id) => id !== 'defaults')
  return ids.length > 0 ? ids : ['main']
}

/** The agent with `default: true`, else the first. */
export function defaultAgentId(agents: AgentsConfig): string {
  const ids = agentIdsOf(agents)
  return ids.find((id) => agents[id]?.default) ?? (ids[0] as string)
}
