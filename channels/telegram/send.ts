// Sends texts and files, and says what became of them.
import type { Message } from 'grammy/types'
import {
  type Json,
  type MessageChoice,
  type OutboundMessage,
  type SendResult,
  type SentMessage,
} from 'svc-gateway/plugin'
import { resultOfError, resultOfResponse } from 'svc-gateway/kit'
import { type ApiError, apiErrorOf, type Client } from './client.ts'
import { idOf } from './post.ts'

export const maxFileBytes = 50_000_000
const maxPhotoBytes = 10_000_000
const photoTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/webp'])
/** Longest text that a file can have, in characters. */
const maxCaption = 1024

/** Sends `text` to `chat`. The methods of Telegram for texts, photos and other files differ only in this. */
type Post = (chat: number | string, text: string, parseMode: { parse_mode?: 'HTML' }) => Promise<Message>

export async function send(client: Client, message: OutboundMessage): Promise<SendResult> {
  const { to, text, threadId, file } = message
  if (threadId !== undefined && !/^\d+$/.test(threadId)) return permanent('The thread id is not a number.')
  try {
    if (!file || text.length <= maxCaption) return sentAs(await deliver(postOf(client, message), to, text))
    await deliver(postOf(client, message), to, '')
  } catch (error) {
    return resultOf(error)
  }
  const { file: _, ...caption } = message
  const result = await send(client, caption)
  // Failed would mean that nothing arrived, and the file would be sent again.
  return result.outcome === 'failed'
    ? { outcome: 'unknown', detail: 'The file was sent, but not its caption.' }
    : result
}

/** The topic General of a group with topics. Telegram wants its number for typing, and refuses it for messages. */
export const generalTopic = '1'

/** @returns the option of Telegram's methods that names a topic of a group */
export const threadOption = (threadId: Json | undefined): { message_thread_id?: number } =>
  typeof threadId === 'string' ? { message_thread_id: Number(threadId) } : {}

export async function removeChoices({ api }: Client, { id }: SentMessage): Promise<void> {
  const [chat = '', message] = id.split(':')
  await api.editMessageReplyMarkup(chat, Number(message))
}

/** The buttons are in one row. Telegram accepts 64 bytes as the data of a button. */
const buttonsOf = (choices: readonly MessageChoice[]) => ({
  inline_keyboard: [choices.map(({ label, text }) => ({ text: label, callback_data: text }))],
})

function postOf({ api, createFile }: Client, { threadId, file, choices }: OutboundMessage): Post {
  const thread = threadId === generalTopic ? {} : threadOption(threadId)
  if (!file) {
    // A preview would make Telegram fetch an address that an agent wrote, without anybody opening it.
    const options = {
      ...thread,
      link_preview_options: { is_disabled: true },
      ...(choices && { reply_markup: buttonsOf(choices) }),
    }
    return (chat, text, mode) => api.sendMessage(chat, text, { ...options, ...mode })
  }
  const upload = () => createFile(file.data, file.name)
  const asDocument: Post = (chat, caption, mode) => api.sendDocument(chat, upload(), { ...thread, caption, ...mode })
  if (!photoTypes.has(file.type) || file.data.length > maxPhotoBytes) return asDocument
  return async (chat, caption, mode) => {
    try {
      return await api.sendPhoto(chat, upload(), { ...thread, caption, ...mode })
    } catch (error) {
      // Telegram takes no photos that are very long or broken.
      if (!isRefusal(error, /photo|image/i)) throw error
      return await asDocument(chat, caption, mode)
    }
  }
}

/** Follows a group that has a new id. */
async function deliver(post: Post, chat: string, html: string): Promise<Message> {
  try {
    return await deliverTo(post, chat, html)
  } catch (error) {
    const moved = apiErrorOf(error)?.parameters.migrate_to_chat_id
    if (moved === undefined) throw error
    return await deliverTo(post, moved, html)
  }
}

/** Sends it as HTML, or as plain text if Telegram cannot read the HTML. */
async function deliverTo(post: Post, chat: number | string, html: string): Promise<Message> {
  try {
    return await post(chat, html, { parse_mode: 'HTML' })
  } catch (error) {
    if (!isRefusal(error, /can't parse entities/i)) throw error
    return await post(chat, plainText(html), {})
  }
}

function isRefusal(error: unknown, reason: RegExp): boolean {
  const answer = apiErrorOf(error)
  return answer?.error_code === 400 && reason.test(answer.description)
}

const plainText = (html: string): string =>
  html
    .replace(/<a href="([^"]*)">(.*?)<\/a>/gs, '$2 ($1)')
    .replace(/<\/?[a-z]+>/g, '')
    .replace(/&(lt|gt|quot|amp|#39);/g, (_, name: string) => characters[name] ?? '')

const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" }

const sentAs = (message: Message): SendResult => ({ outcome: 'sent', id: idOf(message) })

const permanent = (detail: string): SendResult => ({ outcome: 'failed', reason: 'permanent', detail })

function resultOf(error: unknown): SendResult {
  const answer = apiErrorOf(error)
  // The library wraps the error of the network.
  if (!answer) return resultOfError((error as { error?: unknown }).error)
  const { error_code: status, parameters } = answer
  const headers = new Headers(
    parameters.retry_after === undefined ? {} : { 'retry-after': String(parameters.retry_after) },
  )
  if (status === 400 || status === 403) return permanent(explain(answer))
  // Telegram answers 404 to tokens that it cannot read.
  return resultOfResponse({ status: status === 404 ? 401 : status, headers })
}

/** Telegram's descriptions can quote the text, so only known ones are passed on. */
function explain({ error_code, description }: ApiError): string {
  const known = reasons.find((reason) => description.toLowerCase().includes(reason))
  return `Telegram answered ${error_code}${known ? `: ${known}` : ''}.`
}

const reasons = [
  'bot was blocked by the user',
  "bot can't initiate conversation with a user",
  'bot was kicked',
  'bot is not a member',
  'chat not found',
  'chat_write_forbidden',
  'file is too big',
  'have no rights to send a message',
  'message is too long',
  'message thread not found',
  'not enough rights',
  'topic_closed',
  'user is deactivated',
] as const
