// Says what one run of each agent can cost at most, by the price of its model and the limits of a turn.
import { type Agent, createAgents } from '../../agents/agents.ts'
import { countTokens } from '../../agents/history.ts'
import { maxOutputLength } from '../../agents/model-answer.ts'
import { createModels, type Models } from '../../agents/models.ts'
import { formatUsd } from '../../kit/format-usd.ts'
import { silentLog } from '../../loader/extension-log.ts'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'

export const checkCosts = withConfig(async ({ resolved: { config, dir }, extensions }) => {
  const models = createModels({ config, providers: extensions.providers, log: silentLog })
  const findings = createAgents(config, dir).all.map((agent) => describeCost(agent, models))
  return (await Promise.all(findings)).flat()
})

async function describeCost(agent: Agent, models: Models): Promise<Finding[]> {
  const { id, maxSteps, maxOutputTokens = Math.ceil(countTokens(maxOutputLength) / maxSteps) } = agent
  const { ref, costOf, contextWindow } = models.resolve(agent.model, agent)
  const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 }
  const costOfMillion = await costOf(million)
  if (costOfMillion === 0) return []
  const input = await contextWindow()
  if (costOfMillion === undefined || input === undefined) {
    const unknown = costOfMillion === undefined ? 'the price' : 'the context window'
    const fix =
      costOfMillion === undefined
        ? `Set the price of ${ref} in agents.defaults.models[].price; with 0 it is free.`
        : 'Set a budget in US dollars.'
    return [
      info(id, {
        problem: `It is not known what a run of the agent ${id} can cost: ${unknown} of ${ref} is unknown.`,
        fix,
      }),
    ]
  }
  const costOfCall = (await costOf({ inputTokens: input, outputTokens: maxOutputTokens })) ?? 0
  const tokens = `${formatCount(input)} tokens of input and ${formatCount(maxOutputTokens)} of output`
  const calls = `${formatCount(maxSteps)} calls of ${ref} with ${tokens}`
  return [
    info(id, {
      problem: `A run of the agent ${id} costs at most ${formatUsd((maxSteps * costOfCall) / 1e9)}: ${calls}.`,
      fix: `To lower it, set maxSteps and maxOutputTokens of agents.${id} or agents.defaults, or set a budget.`,
    }),
  ]
}

const info = (agentId: string, texts: Pick<Finding, 'problem' | 'fix'>): Finding => ({
  id: 'turn_cost',
  severity: 'info',
  where: `agents.${agentId}`,
  ...texts,
})

const formatCount = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ')
