// Decides whether the agent reads a message: by its sender, its group, and whether it mentions the agent.
import { type Access, allowsEverybody, findGroup, type GroupConfig, isWildcard } from '../../config/channels/access.ts'
import type { InboundMessage } from '../../plugin/plugin.ts'

/** Why a message is ignored. */
export type Refusal = 'sender' | 'group' | 'mention'

/** A stranger is let in by `*` or `dmPolicy: 'open'` alone: the operator neither lists it by id nor has approved it. */
export type Admission = { refusal: Refusal } | { isStranger: boolean }

interface AdmissionRequest {
  access: Access
  message: Judged
  /** Whether the operator has approved the sender. */
  isApproved(): Promise<boolean>
}

type Judged = Pick<InboundMessage, 'from' | 'mentioned'> & Place

/** The same twice if it does not matter whether the operator has approved the sender. */
interface Verdict {
  approved: Admission
  unapproved: Admission
}

/** Whether a message that is let in is text from outside. In a group that is listed, the group is trusted. */
export const isExternal = ({ isStranger }: { isStranger: boolean }, access: Access, place: Place): boolean =>
  isStranger && !isListedGroup(access, place)

export async function admit({ access, message, isApproved }: AdmissionRequest): Promise<Admission> {
  const { approved, unapproved } = judge(access, message)
  return approved === unapproved || !(await isApproved()) ? unapproved : approved
}

export function judge(access: Access, message: Judged): Verdict {
  const refusal = message.group ? findGroupRefusal(access, message) : undefined
  if (refusal) return whollyJudged({ refusal })
  const { allowFrom, dmPolicy } = access
  if (idsOf(message).some((id) => isListed(allowFrom, id))) return whollyJudged({ isStranger: false })
  const isOpen = allowsEverybody(allowFrom) || (dmPolicy === 'open' && !message.group)
  const unapproved: Admission = isOpen ? { isStranger: true } : { refusal: 'sender' }
  return dmPolicy === 'allowlist' ? whollyJudged(unapproved) : { approved: { isStranger: false }, unapproved }
}

const whollyJudged = (admission: Admission): Verdict => ({ approved: admission, unapproved: admission })

function findGroupRefusal(access: Access, message: Judged): Refusal | undefined {
  const group = groupOf(access, message)
  if (access.groups && (!group || group.allow === false)) return 'group'
  return (group?.requireMention ?? true) && !message.mentioned ? 'mention' : undefined
}

type Place = Pick<InboundMessage, 'group' | 'to'> & {
  /** All ids of the group. Default: `to`. */
  groupIds?: readonly string[]
}

/** The configuration of the group in which a message was written. */
export const groupOf = (access: Access, place: Place): GroupConfig | undefined => findEntry(access, place)?.[1]

/** Whether the operator has listed this group. Strangers can add the account to any other group themselves. */
const isListedGroup = (access: Access, place: Place): boolean => {
  const [id] = findEntry(access, place) ?? []
  return id !== undefined && !isWildcard(id)
}

function findEntry({ groups }: Access, { group, to, groupIds = [to] }: Place): ReturnType<typeof findGroup> {
  if (!group || !groups) return undefined
  const entries = groupIds.map((id) => findGroup(groups, id)).filter((entry) => entry !== undefined)
  return entries.find(([id]) => !isWildcard(id)) ?? entries[0]
}

/** All ids of the sender. */
export const idsOf = ({ from: { id, otherIds = [] } }: Pick<InboundMessage, 'from'>): string[] => [id, ...otherIds]

const isListed = (allowFrom: readonly string[], sender: string): boolean =>
  allowFrom.some((allowed) => !isWildcard(allowed) && allowed.trim().toLowerCase() === sender.trim().toLowerCase())

/**
 * A mention by name, on platforms that do not tell who is mentioned: `@helper …`, `helper: …` or `helper, …`.
 *
 * @returns the text without the mention, or nothing if it does not begin with one of the names
 */
export function withoutMention(text: string, names: readonly string[]): string | undefined {
  const escaped = names.toSorted((a, b) => b.length - a.length).flatMap((name) => RegExp.escape(name.trim()) || [])
  const name = `(?:${escaped.join('|')})`
  const mention = new RegExp(
    String.raw`^\s*(?:@${name}(?![\p{L}\p{N}_])[:,\uFF1A\uFF0C]?|${name}[:,\uFF1A\uFF0C])\s*`,
    'iu',
  )
  return mention.test(text) ? text.replace(mention, '') : undefined
}
