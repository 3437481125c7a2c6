// Finds agents whose conversations grow longer than their model can read.
import { createAgents } from '../../agents/agents.ts'
import { createModels } from '../../agents/models.ts'
import { silentLog } from '../../loader/extension-log.ts'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'

/** The rest of the window is for the instructions, the tools, the message and the answer. */
const historyShare = 0.75

export const checkHistory = withConfig(async ({ resolved: { config, dir }, extensions }) => {
  const models = createModels({ config, providers: extensions.providers, log: silentLog })
  const findings = createAgents(config, dir).all.map(async (agent): Promise<Finding[]> => {
    const { ref, contextWindow } = models.resolve(agent.model, agent)
    const window = await contextWindow()
    const { tokens } = agent.history
    if (window === undefined || tokens <= window * historyShare) return []
    return [
      {
        id: 'history_too_long',
        severity: 'warning',
        where: `agents.${agent.id}`,
        problem: `The agent ${agent.id} sends up to ${tokens} tokens of a conversation, but ${ref} reads ${window} in all.`,
        fix: `Set historyTokens of agents.${agent.id} to ${Math.floor(window / 2)}; in a chat, /new begins a new conversation.`,
      },
    ]
  })
  return (await Promise.all(findings)).flat()
})
