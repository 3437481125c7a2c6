// Reads messages out of Telegram's updates, which may have any shape.
import type { CallbackQuery, Message, MessageEntity, User } from 'grammy/types'
import type { InboundMessage } from 'svc-gateway/plugin'
import { attachmentsOf } from './attachments.ts'
import type { Client } from './client.ts'
import { generalTopic } from './send.ts'
import { forwardedFromOf, idOf, isMessage, isObject, nameOf, postOf, senderOf } from './post.ts'
import { answersBot, quotedOf } from './quotes.ts'

/** The bot's own account. */
export type Bot = Pick<User, 'id' | 'username'>

/** A button that somebody has pressed. */
export interface Press {
  /** Telegram waits for an answer to it. */
  queryId: string
  message: InboundMessage
}

/**
 * @returns undefined if the update is not a press of a button below a message of the bot. Changed apps can send any text
 * as if they had pressed a button, as they can write it.
 */
export function readPress(update: unknown): Press | undefined {
  const { callback_query: query } = (update ?? {}) as { callback_query?: unknown }
  if (!isObject(query)) return undefined
  const { id, from, message: post, data } = query as Partial<CallbackQuery>
  if (typeof id !== 'string' || typeof data !== 'string' || !isMessage(post)) return undefined
  if (!isObject(from) || !Number.isSafeInteger(from.id)) return undefined
  const name = nameOf(from)
  const message = {
    id: `press:${id}`,
    from: { id: String(from.id), ...(name && { name }) },
    text: data,
    ...placeOf(post),
    ...(groups[post.chat.type] && { mentioned: true }),
  }
  return { queryId: id, message }
}

/** @returns undefined if the update is not a message of somebody else */
export function readMessage(update: unknown, { me, client }: { me: Bot; client: Client }): InboundMessage | undefined {
  const post = postOf(update)
  if (!post) return undefined
  const sender = senderOf(post)
  if (!sender || sender.id === me.id || isCommandToOther(post, me)) return undefined
  const { text, mentioned } = readText(post, me)
  const name = nameOf(sender)
  const place = placeOf(post)
  const attachments = attachmentsOf(post, client)
  // Of a place, a poll and the like, the agent gets nothing, so it does not get what they answer.
  const isRead = (post.text ?? post.caption) !== undefined || attachments.length > 0
  const quoted = isRead ? quotedOf(post, { me, client }) : undefined
  const forwardedFrom = forwardedFromOf(post)
  return {
    id: idOf(post),
    from: { id: String(sender.id), ...(name && { name }) },
    text,
    ...place,
    // The words of somebody else mention nobody.
    ...(place.group && { mentioned: (mentioned && !forwardedFrom) || answersBot(post, me) }),
    ...(attachments.length > 0 && { attachments }),
    ...(quoted && { quoted }),
    ...(forwardedFrom && { forwardedFrom }),
  }
}

/** A group that has become a supergroup, which has another id. Telegram says it in both. */
export function readMove(update: unknown): { from: string; to: string } | undefined {
  const post = postOf(update)
  if (!post) return undefined
  const { chat, migrate_to_chat_id: to = chat.id, migrate_from_chat_id: from = chat.id } = post
  return to !== from && [to, from].every(Number.isSafeInteger) ? { from: String(from), to: String(to) } : undefined
}

function placeOf(post: Message): Pick<InboundMessage, 'to' | 'threadId' | 'route' | 'group'> {
  const threadId = post.is_topic_message && post.message_thread_id ? String(post.message_thread_id) : undefined
  const group = groups[post.chat.type]
  // `typing` gets the route, but no thread.
  const route = threadId ?? (post.chat.is_forum ? generalTopic : undefined)
  return { to: String(post.chat.id), ...(threadId && { threadId }), ...(route && { route }), ...(group && { group }) }
}

const groups: Partial<Record<string, 'group' | 'channel'>> = { group: 'group', supergroup: 'group', channel: 'channel' }

/**
 * The text or caption without mentions of the bot, and whether there was one. `/new@name` becomes `/new`. What is behind
 * words, an address or a person without a user name, follows them, because the agent sees nothing else of it.
 */
function readText(post: Message, me: Bot): { text: string; mentioned: boolean } {
  const [text, entities] = [post.text ?? post.caption ?? '', post.entities ?? post.caption_entities ?? []]
  if (typeof text !== 'string' || !Array.isArray(entities)) return { text: '', mentioned: false }
  const mentions = entities.flatMap((entity) => mentionIn(text, entity, me) ?? [])
  const changes = [...mentions, ...entities.flatMap((entity) => addressIn(text, entity, me) ?? [])]
  if (changes.length === 0) return { text, mentioned: false }
  // From the end, so that the offsets of the others stay right.
  const rest = changes
    .toSorted((a, b) => b.start - a.start)
    .reduce((rest, { start, end, by = '' }) => rest.slice(0, start) + by + rest.slice(end), text)
  return mentions.length === 0 ? { text: rest, mentioned: false } : { text: rest.trim(), mentioned: true }
}

/** A part of the text, and what is in its place. */
interface Change {
  start: number
  end: number
  by?: string
}

/** `/new@other_bot` in a group with several bots. */
function isCommandToOther({ text, entities }: Message, me: Bot): boolean {
  if (typeof text !== 'string' || !Array.isArray(entities)) return false
  const command = entities.find((entity) => isObject(entity) && entity.type === 'bot_command' && entity.offset === 0)
  const [, name] = command ? text.slice(0, command.length).split('@') : []
  return name !== undefined && name.toLowerCase() !== me.username?.toLowerCase()
}

/** @returns the range of the mention in the text, if the entity mentions the bot */
function mentionIn(text: string, entity: MessageEntity, me: Bot): Change | undefined {
  const range = rangeOf(entity)
  if (!range) return undefined
  const { type } = entity
  const { start, end } = range
  const marked = text.slice(start, end).toLowerCase()
  const name = `@${me.username?.toLowerCase()}`
  if (type === 'mention' && marked === name) return { start, end }
  if (type === 'text_mention' && (entity as { user?: User }).user?.id === me.id) return { start, end }
  if (type === 'bot_command' && marked.endsWith(name)) return { start: end - name.length, end }
  return undefined
}

function rangeOf(entity: unknown): Change | undefined {
  const { offset, length } = isObject(entity) ? entity : {}
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length)) return undefined
  return { start: offset as number, end: (offset as number) + (length as number) }
}

/** @returns the place after the words, and the address behind them */
function addressIn(text: string, entity: MessageEntity, me: Bot): Change | undefined {
  const range = rangeOf(entity)
  const address = range && addressOf(entity, me)
  if (!address || isSame(text.slice(range.start, range.end), address)) return undefined
  return { start: range.end, end: range.end, by: ` (${address})` }
}

function addressOf(entity: MessageEntity, me: Bot): string | undefined {
  const { type, url, user } = entity as { type: string; url?: unknown; user?: Partial<User> }
  if (type === 'text_link' && typeof url === 'string') return url
  const isOther = type === 'text_mention' && Number.isSafeInteger(user?.id) && user?.id !== me.id
  return isOther ? `tg://user?id=${user?.id}` : undefined
}

const isSame = (words: string, address: string): boolean => words.replace(/\/$/, '') === address.replace(/\/$/, '')
