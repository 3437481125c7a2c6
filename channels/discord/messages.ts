// Reads Discord's message objects, which may have any shape, and tells what concerns the agent.
import type { Attachment, InboundMessage, QuotedMessage } from 'svc-gateway/plugin'
import { fieldsOf, listOf } from 'svc-gateway/kit'
import { downloadFrom } from './download.ts'

export interface DiscordMessage extends Pick<InboundMessage, 'quoted' | 'forwardedFrom'> {
  id: string
  channelId: string
  author: { id: string; name?: string }
  /** Without mentions of the bot. */
  text: string
  /** The roles that it mentions. */
  roles: string[]
  /** Whether it mentions the bot or answers one of its messages. */
  mentioned: boolean
  /** Written by a person, not by a bot, a webhook or Discord itself. */
  isFromPerson: boolean
  attachments: Attachment[]
}

/** An ordinary message, and one that answers another. The other types are notices of Discord. */
const answerType = 19
const typesOfPersons: ReadonlySet<unknown> = new Set([0, answerType])

/** Undefined if it is not a message. */
export function readMessage(data: unknown, bot: { id: string; apiRoot: string }): DiscordMessage | undefined {
  const message = fieldsOf(data)
  const author = fieldsOf(message['author'])
  const { id, channel_id: channelId } = message
  if (!isId(id) || !isId(channelId) || !isId(author['id'])) return undefined
  const name = [fieldsOf(message['member'])['nick'], author['global_name'], author['username']].find(isText)
  return {
    id,
    channelId,
    author: { id: author['id'], ...(name !== undefined && { name }) },
    ...contentOf(message, bot),
    roles: listOf(message['mention_roles']).filter(isId),
    mentioned: mentions(message, bot.id),
    isFromPerson:
      author['bot'] !== true &&
      author['id'] !== bot.id &&
      message['webhook_id'] === undefined &&
      typesOfPersons.has(message['type']),
  }
}

type Fields = Partial<Record<string, unknown>>

/** What somebody passes on is the message, or what the message is about if there is a comment beside it. */
function contentOf(
  message: Fields,
  bot: { id: string; apiRoot: string },
): Pick<DiscordMessage, 'text' | 'attachments' | 'quoted' | 'forwardedFrom'> {
  const content = { text: withoutMention(message['content'], bot.id), attachments: filesOf(message, bot.apiRoot) }
  const passedOn = readSnapshot(message, bot.apiRoot)
  if (passedOn && !isText(message['content']) && content.attachments.length === 0)
    return { ...passedOn, forwardedFrom: {} }
  const quoted = passedOn ? { ...passedOn, isOwn: false } : readAnswered(message, bot)
  return { ...content, ...(quoted && { quoted }) }
}

/** A copy of the message that somebody passes on. It does not tell who wrote it. */
function readSnapshot(message: Fields, apiRoot: string): Pick<DiscordMessage, 'text' | 'attachments'> | undefined {
  const [first] = listOf(message['message_snapshots'])
  if (first === undefined) return undefined
  const snapshot = fieldsOf(fieldsOf(first)['message'])
  const { content } = snapshot
  return { text: isText(content) ? content : '', attachments: filesOf(snapshot, apiRoot) }
}

/** Nothing, if the message that is answered was deleted. Discord leaves it out if it has not looked for it. */
function readAnswered(message: Fields, bot: { id: string; apiRoot: string }): QuotedMessage | undefined {
  const { message_id: id } = fieldsOf(message['message_reference'])
  if (message['referenced_message'] === undefined)
    return message['type'] === answerType && isId(id) ? { id } : undefined
  const answered = fieldsOf(message['referenced_message'])
  const author = fieldsOf(answered['author'])
  if (!isId(answered['id'])) return undefined
  const passedOn = readSnapshot(answered, bot.apiRoot)
  if (passedOn) return { id: answered['id'], isOwn: false, ...passedOn }
  const name = [author['global_name'], author['username']].find(isText)
  return {
    id: answered['id'],
    isOwn: author['id'] === bot.id,
    from: { ...(isId(author['id']) && { id: author['id'] }), ...(name !== undefined && { name }) },
    text: isText(answered['content']) ? answered['content'] : '',
    attachments: filesOf(answered, bot.apiRoot),
  }
}

const filesOf = (message: Fields, apiRoot: string): Attachment[] =>
  listOf(message['attachments']).flatMap((attachment) => readAttachment(attachment, apiRoot))

/** A button that somebody has pressed. */
export interface Press extends Pick<DiscordMessage, 'id' | 'channelId' | 'author' | 'text'> {
  /** Confirms the press, once, within some minutes. */
  token: string
}

const componentType = 3

/** Undefined if it is not the press of a button. In a server, the sender is a member; elsewhere, a user. */
export function readPress(data: unknown): Press | undefined {
  const interaction = fieldsOf(data)
  const member = fieldsOf(interaction['member'])
  const user = fieldsOf(member['user'] ?? interaction['user'])
  const { id, channel_id: channelId, token, type } = interaction
  const text = fieldsOf(interaction['data'])['custom_id']
  if (type !== componentType || !isId(id) || !isId(channelId) || !isId(user['id'])) return undefined
  if (!isText(token) || !/^[\w-]+$/.test(token) || !isText(text)) return undefined
  const name = [member['nick'], user['global_name'], user['username']].find(isText)
  return { id, token, channelId, text, author: { id: user['id'], ...(name !== undefined && { name }) } }
}

/** Ids become part of the path of a request. */
export const isId = (value: unknown): value is string => typeof value === 'string' && /^\d{17,20}$/.test(value)

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const withoutMention = (content: unknown, botId: string): string =>
  typeof content === 'string' ? content.replaceAll(new RegExp(`<@!?${botId}>`, 'g'), '').trim() : ''

function mentions(message: Partial<Record<string, unknown>>, botId: string): boolean {
  const answered = fieldsOf(fieldsOf(message['referenced_message'])['author'])
  return answered['id'] === botId || listOf(message['mentions']).some((user) => fieldsOf(user)['id'] === botId)
}

function readAttachment(value: unknown, apiRoot: string): Attachment[] {
  const { filename, content_type: type, size, url } = fieldsOf(value)
  if (!isText(filename) || !isText(url) || typeof size !== 'number') return []
  const read = downloadFrom(url, apiRoot)
  return [{ name: filename, type: isText(type) ? type : 'application/octet-stream', size, ...(read && { read }) }]
}
