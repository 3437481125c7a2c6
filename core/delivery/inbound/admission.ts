// Decides whether the agent reads a message: by its sender, its group, and whether it mentions the agent.
import { type Access, findGroup, type GroupConfig } from '../../config/channels/access.ts'
import type { InboundMessage } from '../../plugin/plugin.ts'

/** Why a message is ignored. */
export type Refusal = 'sender' | 'group' | 'mention'

interface AdmissionRequest {
  access: Access
  message: Pick<InboundMessage, 'from' | 'to' | 'group' | 'mentioned'>
  /** Whether the operator has approved the sender. */
  isApproved(): Promise<boolean>
}

/** @returns nothing if the agent reads the message */
export async function findRefusal({ access, message, isApproved }: AdmissionRequest): Promise<Refusal | undefined> {
  const refusal = message.group ? findGroupRefusal(access, message) : undefined
  if (refusal) return refusal
  const { dmPolicy } = access
  if (dmPolicy === 'open' && !message.group) return undefined
  if (idsOf(message).some((id) => isListed(access.allowFrom, id))) return undefined
  return dmPolicy === 'pairing' && (await isApproved()) ? undefined : 'sender'
}

function findGroupRefusal(access: Access, message: AdmissionRequest['message']): Refusal | undefined {
  const group = groupOf(access, message)
  if (access.groups && (!group || group.allow === false)) return 'group'
  return (group?.requireMention ?? true) && !message.mentioned ? 'mention' : undefined
}

/** The configuration of the group in which a message was written. */
export const groupOf = (
  { groups }: Access,
  { group, to }: Pick<InboundMessage, 'group' | 'to'>,
): GroupConfig | undefined => (group && groups ? findGroup(groups, to)?.[1] : undefined)

/** All ids of the sender. */
export const idsOf = ({ from: { id, otherIds = [] } }: Pick<InboundMessage, 'from'>): string[] => [id, ...otherIds]

/** Without a list no sender is allowed; `*` allows all. */
const isListed = (allowFrom: readonly string[], sender: string): boolean =>
  allowFrom.some((allowed) => allowed.trim() === '*' || allowed.trim().toLowerCase() === sender.trim().toLowerCase())

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
