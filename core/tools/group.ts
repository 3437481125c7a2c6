// The policy of a group or channel on a platform: found by the session key, which ends in `<channel>:group:<id>` or
// `<channel>:channel:<id>`.
import type { ChannelGroupsConfig, Config, ToolLists } from '../config/schema.ts'
import { normalizeName } from './names.ts'
import type { Subject } from './subject.ts'

export interface GroupPolicy {
  /** Where it stands: `channels.slack.groups.C42.tools`. */
  path: string
  policy: ToolLists
}

/** What the caller says of channel and account goes before what the key says. */
export function findGroupPolicy(
  channels: Config['channels'],
  subject: Pick<Subject, 'sessionKey' | 'channel' | 'accountId'>,
): GroupPolicy | undefined {
  const groupRef = groupRefOf(subject.sessionKey)
  if (!groupRef) return undefined
  const [channel, section] = entryOf(channels, subject.channel ?? groupRef.channel) ?? []
  const [accountId, account] = entryOf(section?.accounts ?? {}, subject.accountId ?? 'default') ?? []
  const path = `channels.${channel}${account?.groups ? `.accounts.${accountId}` : ''}.groups`
  const [id, group] = groupOf(account?.groups ?? section?.groups ?? {}, groupRef.id) ?? []
  return group?.tools && { path: `${path}.${id}.tools`, policy: group.tools }
}

/**
 * `agent:main:slack:channel:c42:thread:7` → slack, `c42:thread:7`: ids of some platforms hold colons, so where the id
 * ends is for the entries to say.
 */
function groupRefOf(sessionKey: string): { channel: string; id: string } | undefined {
  if (!sessionKey.includes(':group:') && !sessionKey.includes(':channel:')) return undefined
  const [, channel, id] = /^(?:agent:[^:]*:)?(?:[^:]*:)*?([^:]+):(?:group|channel):(.+)$/.exec(sessionKey) ?? []
  return channel === undefined || id === undefined ? undefined : { channel, id }
}

/** The entry whose id the place is or begins with, the longest of them; else `*`. */
function groupOf(groups: NonNullable<ChannelGroupsConfig>, groupRef: string) {
  const entries = Object.entries(groups)
  const named = entries.filter(([id]) => `${groupRef}:`.startsWith(`${normalizeName(id)}:`))
  return named.toSorted(([a], [b]) => b.length - a.length)[0] ?? entries.find(([id]) => id.trim() === '*')
}

/** Names that come with a request never reach beyond an object's own keys. */
const entryOf = <Value>(entries: Readonly<Record<string, Value>>, name: string): [string, Value] | undefined =>
  Object.entries(entries).find(([key]) => normalizeName(key) === normalizeName(name))
