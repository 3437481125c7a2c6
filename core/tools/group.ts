// Finds the tool policy of a group on a platform. The session key ends in `<channel>:group:<id>` or
// `<channel>:channel:<id>`.
import { findGroup } from '../config/channels/access.ts'
import type { Config, ToolLists } from '../config/schema/schema.ts'
import { normalizeName } from './names.ts'
import type { Subject } from './subject.ts'

export interface GroupPolicy {
  /** Its key in the configuration, such as `channels.slack.groups.C42.tools`. */
  path: string
  policy: ToolLists
}

/** The subject's channel and account take precedence over the session key. */
export function findGroupPolicy(
  { channels, channelName }: { channels: Config['channels']; channelName(called: string): string },
  subject: Pick<Subject, 'sessionKey' | 'channel' | 'accountId'>,
): GroupPolicy | undefined {
  const groupRef = parseGroupRef(subject.sessionKey)
  if (!groupRef) return undefined
  const [channel, section] = findEntry(channels, channelName(normalizeName(subject.channel ?? groupRef.channel))) ?? []
  const [accountId, account] = findEntry(section?.accounts ?? {}, subject.accountId ?? 'default') ?? []
  const path = `channels.${channel}${account?.groups ? `.accounts.${accountId}` : ''}.groups`
  const [id, group] = findGroup(account?.groups ?? section?.groups ?? {}, groupRef.id) ?? []
  return group?.tools && { path: `${path}.${id}.tools`, policy: group.tools }
}

/**
 * `agent:main:slack:channel:c42:thread:7` → slack, `c42:thread:7`. The id includes all that follows, because ids of
 * some platforms contain colons.
 */
function parseGroupRef(sessionKey: string): { channel: string; id: string } | undefined {
  if (!sessionKey.includes(':group:') && !sessionKey.includes(':channel:')) return undefined
  const [, channel, id] = /^(?:agent:[^:]*:)?(?:[^:]*:)*?([^:]+):(?:group|channel):(.+)$/.exec(sessionKey) ?? []
  return channel === undefined || id === undefined ? undefined : { channel, id }
}

/** Looks only at own keys, because names may come from a request. */
const findEntry = <Value>(entries: Readonly<Record<string, Value>>, name: string): [string, Value] | undefined =>
  Object.entries(entries).find(([key]) => normalizeName(key) === normalizeName(name))
