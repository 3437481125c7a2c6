// Who may write to the agents on an account of a channel, and which agent and session a message is for.
import type { AccountConfig, ChannelConfig, ChannelGroupsConfig } from '../schema/schema.ts'

export interface Access extends Required<Pick<AccountConfig, 'allowFrom' | 'dmPolicy' | 'directSession'>> {
  /** Absent: the default agent. */
  agentId?: string
  /** Absent: every group is open. */
  groups?: ChannelGroupsConfig
}

export type GroupConfig = NonNullable<ChannelGroupsConfig>[string]

/** The keys of an account take precedence over those of the channel. */
export function resolveAccess(section: ChannelConfig, accountId: string): Access {
  const own = section.accounts && Object.hasOwn(section.accounts, accountId) ? section.accounts[accountId] : undefined
  const { allowFrom = [], dmPolicy = 'allowlist', directSession = 'main', agentId, groups } = { ...section, ...own }
  return { allowFrom, dmPolicy, directSession, ...(agentId !== undefined && { agentId }), ...(groups && { groups }) }
}

/** The access of every account of a channel. */
export const listAccess = (section: ChannelConfig): Access[] =>
  Object.keys(section.accounts ?? { default: {} }).map((id) => resolveAccess(section, id))

/** The entry with the longest id that `groupId` equals or begins with, or else the entry `*`. */
export function findGroup(
  groups: NonNullable<ChannelGroupsConfig>,
  groupId: string,
): [id: string, group: GroupConfig] | undefined {
  const entries = Object.entries(groups)
  const wanted = `${normalize(groupId)}:`
  const named = entries.filter(([id]) => wanted.startsWith(`${normalize(id)}:`))
  return named.toSorted(([a], [b]) => b.length - a.length)[0] ?? entries.find(([id]) => id.trim() === '*')
}

const normalize = (id: string): string => id.trim().toLowerCase()
