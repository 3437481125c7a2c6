// Reads what a message of a linked device quotes, and whether its sender passes it on.
import type { proto } from 'baileys'
import type { Attachment, InboundMessage, QuotedMessage } from 'svc-gateway/plugin'
import { isSameUser } from './address.ts'

export type ContextInfo = proto.IContextInfo

/** What a message says about others, whatever its kind. */
export function contextOf(content: proto.IMessage): ContextInfo {
  const parts: ({ contextInfo?: ContextInfo | null } | null | undefined)[] = Object.values(content)
  return parts.find((part) => part?.contextInfo)?.contextInfo ?? {}
}

interface Reading {
  /** The ids of the account. */
  me: { id: string; lid?: string }
  addressOf(jid: string): Promise<string>
  read(content: proto.IMessage): { text: string; attachments: Attachment[] } | undefined
}

export const isOfAccount = (jid: string, { id, lid }: Reading['me']): boolean =>
  [id, ...(lid ? [lid] : [])].some((own) => isSameUser(own, jid))

const isPassedOn = ({ isForwarded, forwardingScore }: ContextInfo): boolean => Boolean(isForwarded || forwardingScore)

/** Whoever answers sends a copy of the original, which may leave its file out. */
export async function readQuotes(
  content: proto.IMessage,
  { me, addressOf, read }: Reading,
): Promise<Pick<InboundMessage, 'quoted' | 'forwardedFrom'>> {
  const info = contextOf(content)
  const { stanzaId, participant, quotedMessage, forwardedNewsletterMessageInfo: source } = info
  const quoted: QuotedMessage = {
    ...(stanzaId && { id: stanzaId }),
    ...(participant && { isOwn: isOfAccount(participant, me), from: { id: await addressOf(participant) } }),
    ...(quotedMessage && read(quotedMessage)),
    // Who passes a text on has not written it.
    ...(quotedMessage && isPassedOn(contextOf(quotedMessage)) && { from: undefined }),
  }
  return {
    ...((quoted.id !== undefined || quoted.text !== undefined) && { quoted }),
    ...(isPassedOn(info) && { forwardedFrom: { name: source?.newsletterName ?? undefined } }),
  }
}
