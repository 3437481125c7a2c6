// A message as Telegram describes it, which may have any shape: its sender, and whose words it holds.
import type { Chat, Message, MessageOrigin, Update, User } from 'grammy/types'

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

export function isMessage(value: unknown): value is Message {
  if (!isObject(value)) return false
  const { message_id, chat } = value
  return Number.isSafeInteger(message_id) && isObject(chat) && Number.isSafeInteger(chat['id'])
}

/** @returns undefined if the update is not a new message */
export function postOf(update: unknown): Message | undefined {
  const { message, channel_post } = (update ?? {}) as Partial<Update>
  const post: unknown = message ?? channel_post
  return isMessage(post) ? post : undefined
}

/** The id of a message that no other message of the account has. */
export const idOf = ({ chat, message_id }: Message): string => `${chat.id}:${message_id}`

/** Anonymous administrators of all groups share one user, so the chat in whose name they write identifies them. */
export function senderOf({ sender_chat, from, chat }: Message): User | Chat | undefined {
  const sender = sender_chat ?? from ?? (chat.type === 'channel' ? chat : undefined)
  return isObject(sender) && Number.isSafeInteger(sender.id) ? sender : undefined
}

export const nameOf = (sender: User | Chat): string =>
  [
    'title' in sender ? sender.title : undefined,
    'first_name' in sender ? sender.first_name : undefined,
    'last_name' in sender ? sender.last_name : undefined,
  ]
    .filter((part) => typeof part === 'string')
    .join(' ')

/**
 * Set if somebody else may have written the message. What a channel posts, Telegram itself passes on to the channel's
 * group: there, the channel is the sender.
 */
export function forwardedFromOf({ forward_origin, is_automatic_forward }: Message): { name?: string } | undefined {
  return isObject(forward_origin) && is_automatic_forward !== true ? originOf(forward_origin) : undefined
}

/** Who wrote a message first. People who hide their account have only a name. */
export function originOf(origin: MessageOrigin): { name?: string } {
  const { sender_user, sender_user_name, sender_chat, chat } = origin as object as Partial<Record<string, unknown>>
  const author = sender_user ?? sender_chat ?? chat
  const name = isObject(author) ? nameOf(author as unknown as User | Chat) : sender_user_name
  return typeof name === 'string' && name !== '' ? { name } : {}
}
