// The ids of the configured agents, and which of them is the default.
import type { AgentsConfig } from './schema/agents.ts'

/** Without any agent there is one called `main`. */
export function agentIdsOf(agents: AgentsConfig): string[] {
  const ids = Object.keys(agents).filter((id) => id !== 'defaults')
  return ids.length > 0 ? ids : ['main']
}

/** The agent that says so, else the first. */
export function defaultAgentId(agents: AgentsConfig): string {
  const ids = agentIdsOf(agents)
  return ids.find((id) => agents[id]?.default) ?? (ids[0] as string)
}
