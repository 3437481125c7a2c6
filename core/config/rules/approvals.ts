// Checks who approves tool calls: the channel, its recipient, the ids of approvers, and whether somebody can answer.
import { parseDuration } from '../../kit/duration.ts'
import { channelName } from '../channels/names.ts'
import { findIdProblem } from '../channels/ids.ts'
import { resolveApprovals } from '../approvals.ts'
import { agentIdsOf } from '../schema/agents.ts'
import { durations } from '../schema/formats.ts'
import type { ApprovalsConfig, Config } from '../schema/schema.ts'
import { recipientRules, usedChannelRules } from './recipients.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* approvalRules(context: RuleContext): Iterable<RuleFinding> {
  const { defaults: _defaults, ...agents } = context.config.agents
  if (context.config.approvals) yield* sectionRules(context.config.approvals, ['approvals'], context)
  for (const [id, { approvals }] of Object.entries(agents))
    if (approvals) yield* sectionRules(approvals, ['agents', id, 'approvals'], context)
  yield* unansweredWarnings(context.config)
}

function* sectionRules(
  { channel, to, approvers = [], timeout }: ApprovalsConfig,
  keys: readonly string[],
  context: RuleContext,
): Iterable<RuleFinding> {
  if (timeout !== undefined && !parseDuration(timeout)) yield { keys: [...keys, 'timeout'], problem: durations.waiting }
  const everyone = approvers.findIndex((id) => id.trim() === '*')
  if (everyone !== -1)
    yield {
      keys: [...keys, 'approvers', String(everyone)],
      problem: 'would let everybody approve; list the ids of the approvers',
    }
  if (channel === undefined) return
  yield* recipientRules({ channel, to, keys: [...keys, 'to'] }, context)
  yield* usedChannelRules(
    { channel, keys: [...keys, 'channel'], orElse: '', effect: ', so nobody is asked there' },
    context,
  )
  const { channels } = context.extensions
  const known = channels.get(channelName(channels, channel))
  for (const [index, id] of approvers.entries()) {
    const problem = known && findIdProblem(known, 'sender', id)
    if (problem !== undefined) yield { keys: [...keys, 'approvers', String(index)], problem, warning: true }
  }
}

/** Calls that nobody is asked about wait until their time is over. */
function* unansweredWarnings(config: Config): Iterable<RuleFinding> {
  for (const id of agentIdsOf(config.agents)) {
    const asking = findAskingKey(config, id)
    const { channel, approvers } = resolveApprovals(config, id)
    if (!asking || (channel !== undefined && approvers.length > 0)) continue
    yield {
      keys: asking,
      problem:
        `asks for approvals, but nobody can give them in a chat for the agent ${id}: ` +
        'set approvals.channel, approvals.to and approvals.approvers, or watch "svc-gateway approvals list"',
      warning: true,
    }
  }
}

/** Where the policy of an agent asks for the first time. */
function findAskingKey(config: Config, agentId: string): readonly string[] | undefined {
  const sections = [
    { keys: ['tools'], value: { ...config.tools, effects: undefined } as unknown },
    { keys: ['agents', agentId, 'tools'], value: config.agents[agentId]?.tools as unknown },
    { keys: ['gateway', 'tools'], value: config.gateway.tools as unknown },
    ...Object.entries(config.channels).map(([name, { groups, accounts }]) => ({
      keys: ['channels', name],
      value: { groups, accounts } as unknown,
    })),
  ]
  for (const { keys, value } of sections) {
    const inside = findAsk(value)
    if (inside) return [...keys, ...inside]
  }
  return undefined
}

function findAsk(value: unknown): string[] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  for (const [key, child] of Object.entries(value)) {
    if (key === 'ask' && Array.isArray(child) && child.length > 0) return [key]
    if (key === 'beyondRuleOfTwo' && child === 'ask') return [key]
    const inside = findAsk(child)
    if (inside) return [key, ...inside]
  }
  return undefined
}
