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

/** A channel that lists no accounts has one. */
export const accountsOf = ({ accounts = { default: {} } }: ChannelConfig): Readonly<Record<string, AccountConfig>> =>
  accounts

export const hasAccount = (section: ChannelConfig, id: string): boolean => Object.hasOwn(accountsOf(section), id)

/** The access of every account of a channel. */
export const listAccess = (section: ChannelConfig): Access[] =>
  Object.keys(accountsOf(section)).map((id) => resolveAccess(section, id))

/** Whether the list contains `*`, which allows everybody. */
export const allowsEverybody = (allowFrom: readonly string[]): boolean => allowFrom.some(isWildcard)

/** Whether strangers may write: senders that `allowFrom` does not list by id and that nobody has approved. */
export const admitsStrangers = ({ allowFrom, dmPolicy }: Access): boolean =>
  dmPolicy === 'open' || allowsEverybody(allowFrom)

/** Whether somebody may write, or may be approved to. */
export const admitsAnybody = ({ allowFrom, dmPolicy }: Access): boolean =>
  allowFrom.length > 0 || dmPolicy !== 'allowlist'

/** Whether a direct message can go to the main session, and set the recipient of replies to `last`. */
export const canReachMainSession = (access: Access): boolean => {
  const { allowFrom, dmPolicy, directSession } = access
  if (directSession === 'sender') return false
  if (directSession === 'shared' && admitsStrangers(access)) return true
  return dmPolicy === 'pairing' || allowFrom.some((id) => !isWildcard(id))
}

/** The entry with the longest id that `groupId` equals or begins with, or else the entry `*`. */
export function findGroup(
  groups: NonNullable<ChannelGroupsConfig>,
  groupId: string,
): [id: string, group: GroupConfig] | undefined {
  const entries = Object.entries(groups)
  const wanted = `${normalize(groupId)}:`
  const named = entries.filter(([id]) => wanted.startsWith(`${normalize(id)}:`))
  return named.toSorted(([a], [b]) => b.length - a.length)[0] ?? entries.find(([id]) => isWildcard(id))
}

/** `*` stands for all senders or groups. */
export const isWildcard = (id: string): boolean => id.trim() === '*'

const normalize = (id: string): string => id.trim().toLowerCase()
