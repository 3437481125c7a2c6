// Builds the tools: the registry, the policy, the rule of two, and the invocation.
import { isOwnToolset } from '../loader/registry.ts'
import { declareAllTools } from '../tools/unmatched-names.ts'
import { narrowByCurrent } from '../tools/current-policy.ts'
import { createInvoke } from '../tools/invoke.ts'
import { createPolicy } from '../tools/policy.ts'
import { createRuleOfTwo } from '../tools/rule-of-two.ts'
import type { AgentArea } from './agents.ts'
import type { BuildContext } from './build-context.ts'
import { acquireTools } from './resources.ts'
import type { ToolApiArea } from './tool-api.ts'

export type ToolArea = Awaited<ReturnType<typeof buildTools>>

export async function buildTools(
  context: BuildContext,
  { agents, models, recipients }: AgentArea,
  { toolApi }: Pick<ToolApiArea, 'toolApi'>,
) {
  const { config, services, lifecycle } = context
  const { extensions } = services.environment
  const log = services.logs.logFor('tools')
  const tools = await acquireTools(context)
  const { registry } = tools
  const modelRefs = new Map(agents.all.map((agent) => [agent.id, models.resolve(agent.model, agent).ref]))
  const ownPolicy = createPolicy({
    config,
    registry,
    channelName: recipients.channelName,
    modelOf: (agentId) => modelRefs.get(agentId) ?? '',
    isForeign: (toolset) => !isOwnToolset(extensions, toolset),
  })
  const policy = narrowByCurrent(ownPolicy, lifecycle.currentPolicy)
  // If every toolset declares its tools, the warnings about the configuration already list the unmatched names.
  const unmatched = declareAllTools(extensions.toolsets.values()) ? [] : policy.problems
  for (const problem of [...registry.problems, ...unmatched]) log.warn({}, problem)
  const ruleOfTwo = createRuleOfTwo({ store: services.storage.store, policy, effects: config.tools.effects, log })
  const timeoutMs = config.tools.timeoutSeconds * 1000
  const invoke = createInvoke({ registry, policy, ruleOfTwo, toolApi, timeoutMs, log })
  return { tools, registry, ownPolicy, policy, ruleOfTwo, invoke }
}
