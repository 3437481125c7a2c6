// Reads which message another one answers.
import type { Message, User } from 'grammy/types'
import type { QuotedMessage } from 'svc-gateway/plugin'
import { attachmentsOf } from './attachments.ts'
import type { Client } from './client.ts'
import { forwardedFromOf, idOf, isMessage, isObject, nameOf, originOf, senderOf } from './post.ts'

interface Reader {
  me: Pick<User, 'id'>
  client: Client
}

export function quotedOf(post: Message, { me, client }: Reader): QuotedMessage | undefined {
  const original = answeredBy(post)
  const picked = pickedBy(post)
  if (original) {
    const { text, caption } = original
    return {
      id: idOf(original),
      ...authorOf(original, me),
      ...textOf(picked ?? text ?? caption),
      ...filesOf(original, client),
    }
  }
  const { external_reply: external } = post
  if (!isObject(external) || !isObject(external.origin)) return undefined
  const files = filesOf(external, client)
  // Telegram does not tell more of the text than what is picked.
  if (picked === undefined && !files.attachments) return undefined
  return { isOwn: false, from: originOf(external.origin), ...textOf(picked), ...files }
}

/** @returns whether the message answers one of the bot */
export const answersBot = (post: Message, me: Reader['me']): boolean => answeredBy(post)?.from?.id === me.id

/** In a topic, messages that answer nothing seem to answer the message that created the topic. */
function answeredBy({ reply_to_message: original }: Message): Message | undefined {
  return isMessage(original) && !original.forum_topic_created ? original : undefined
}

/** The part that the sender has picked. Otherwise, Telegram may quote the beginning of a message of another chat. */
function pickedBy({ quote, reply_to_message: original }: Message): string | undefined {
  if (!isObject(quote) || typeof quote.text !== 'string') return undefined
  return quote.is_manual || !original ? quote.text : undefined
}

/** A post in a channel does not tell whether the bot has written it. Whoever passes a text on has not written it. */
function authorOf(original: Message, me: Reader['me']): Pick<QuotedMessage, 'from' | 'isOwn'> {
  const forwardedFrom = forwardedFromOf(original)
  if (forwardedFrom) return { isOwn: false, from: forwardedFrom }
  if (original.from?.id === me.id) return { isOwn: true }
  const author = senderOf(original)
  if (!author) return {}
  const name = nameOf(author)
  return {
    ...(original.chat.type !== 'channel' && { isOwn: false }),
    from: { id: String(author.id), ...(name && { name }) },
  }
}

const textOf = (text: unknown): Pick<QuotedMessage, 'text'> => (typeof text === 'string' ? { text } : {})

function filesOf(holder: Parameters<typeof attachmentsOf>[0], client: Client): Pick<QuotedMessage, 'attachments'> {
  const attachments = attachmentsOf(holder, client)
  return attachments.length > 0 ? { attachments } : {}
}
