// Checks agents: ids, default agent, models, heartbeats.
import { agentIdPattern } from '../schema/agents.ts'
import type { AgentConfig, AgentDefaultsConfig } from '../schema/schema.ts'
import { heartbeatReplyWarnings, heartbeatRules } from './heartbeat.ts'
import { modelListRules, modelRules } from './models.ts'
import type { RuleContext, RuleFinding } from './rule.ts'
import { workspaceRules } from './workspaces.ts'

export function* agentRules(context: RuleContext): Iterable<RuleFinding> {
  const { defaults, ...agents } = context.config.agents
  yield* defaultsRules(defaults, context)
  for (const [id, agent] of Object.entries(agents)) yield* oneAgentRules({ id, agent, defaults }, context)
  yield* heartbeatReplyWarnings(context)
  yield* workspaceRules(context)
  const [first, ...others] = Object.keys(agents).filter((id) => agents[id]?.default)
  yield* others.map((id) => ({
    keys: ['agents', id, 'default'],
    problem: `must not be true, because agents.${first} is already the default agent`,
  }))
}

const agentId = new RegExp(agentIdPattern, 'u')

function* defaultsRules(
  { model, models, heartbeat }: AgentDefaultsConfig,
  context: RuleContext,
): Iterable<RuleFinding> {
  const keys = ['agents', 'defaults']
  yield* modelListRules(models, [...keys, 'models'], context)
  yield* modelRules(model, { keys: [...keys, 'model'], allowed: models }, context)
  yield* heartbeatRules(heartbeat, { keys: [...keys, 'heartbeat'], allowed: models }, context)
}

interface OneAgent {
  id: string
  agent: AgentConfig
  defaults: AgentDefaultsConfig
}

function* oneAgentRules({ id, agent, defaults }: OneAgent, context: RuleContext): Iterable<RuleFinding> {
  const keys = ['agents', id]
  if (!agentId.test(id)) {
    yield {
      keys,
      problem:
        'is not a valid agent id; use 1 to 64 lower-case letters, digits, "-" and "_", starting with a letter or digit',
    }
  }
  const allowed = agent.models ?? defaults.models
  yield* modelListRules(agent.models, [...keys, 'models'], context)
  // The model of the defaults is already checked, unless this agent has its own list.
  if (agent.model !== undefined || agent.models !== undefined)
    yield* modelRules(agent.model ?? defaults.model, { keys: [...keys, 'model'], allowed }, context)
  yield* heartbeatRules(agent.heartbeat ?? {}, { keys: [...keys, 'heartbeat'], allowed }, context)
}
