// Who approves the tool calls of an agent.
import { parseDuration } from '../kit/duration.ts'
import type { ApprovalsConfig, Config } from './schema/schema.ts'

export interface ApprovalSettings extends Pick<ApprovalsConfig, 'channel' | 'to' | 'accountId' | 'threadId'> {
  approvers: readonly string[]
  timeoutMs: number
}

const defaultTimeoutMs = 60 * 60 * 1000

/** An agent that names a channel shares no recipient and no approver with the others. */
export function resolveApprovals(
  { approvals = {}, agents }: Pick<Config, 'approvals' | 'agents'>,
  agentId: string,
): ApprovalSettings {
  const own = agents[agentId]?.approvals
  const isOwn = own?.channel !== undefined
  const { channel, to, accountId, threadId } = isOwn ? own : { ...approvals, ...own }
  const approvers = (isOwn ? own.approvers : (own?.approvers ?? approvals.approvers)) ?? []
  const timeout = own?.timeout ?? approvals.timeout
  const timeoutMs = (timeout === undefined ? undefined : parseDuration(timeout)) || defaultTimeoutMs
  return { channel, to, accountId, threadId, approvers, timeoutMs }
}
