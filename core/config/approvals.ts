// Who approves the tool calls of an agent.
import { parseDuration } from '../kit/duration.ts'
import { defaultTimeout } from './schema/approvals.ts'
import type { ApprovalsConfig, Config } from './schema/schema.ts'

export interface ApprovalSettings extends Pick<ApprovalsConfig, 'channel' | 'to' | 'accountId' | 'threadId'> {
  approvers: readonly string[]
  timeoutMs: number
}

/** An agent that names a channel shares no recipient and no approver with the others. */
export function resolveApprovals(
  { approvals = {}, agents }: Pick<Config, 'approvals' | 'agents'>,
  agentId: string,
): ApprovalSettings {
  const own = agents[agentId]?.approvals
  const isOwn = own?.channel !== undefined
  const { channel, to, accountId, threadId } = isOwn ? own : { ...approvals, ...own }
  const approvers = (isOwn ? own.approvers : (own?.approvers ?? approvals.approvers)) ?? []
  const timeoutMs = parseDuration(own?.timeout ?? approvals.timeout ?? defaultTimeout) as number
  return { channel, to, accountId, threadId, approvers, timeoutMs }
}
