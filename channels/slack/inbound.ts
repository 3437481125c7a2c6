// Reads what Slack sends: which events are messages of people, presses of buttons, and what the gateway gets of them.
import { fieldsOf, listOf, textOf } from 'svc-gateway/kit'
import type { Attachment, InboundMessage } from 'svc-gateway/plugin'
import type { Directory } from './directory.ts'
import { createFileReader, type SlackFile } from './files.ts'
import { createQuotes } from './quotes.ts'
import { readText } from './text.ts'

interface ReaderDeps {
  botUserId: string
  botToken: string
  apiRoot: string
  directory: Pick<Directory, 'fileOf' | 'nameOf' | 'isGroup' | 'findMessage'>
}

/** The members of `message` and `app_mention` events that are read here. */
interface MessageEvent {
  channel: string
  user: string
  ts: string
  text?: unknown
  thread_ts?: unknown
  parent_user_id?: unknown
  channel_type?: unknown
  files?: unknown
  attachments?: unknown
}

/** Messages with another subtype are notices, edits, deletions, or those of bots. */
const subtypes: ReadonlySet<unknown> = new Set([undefined, 'file_share', 'me_message', 'thread_broadcast'])

export interface Reader {
  /** Undefined if the event is not a message of a person. */
  readEvent(event: unknown): Promise<InboundMessage | undefined>
  /** Undefined if the payload does not say that somebody has pressed a button of a message. */
  readPress(payload: unknown): Promise<InboundMessage | undefined>
}

export function createReader({ botUserId, botToken, apiRoot, directory }: ReaderDeps): Reader {
  const readFile = createFileReader({ botToken, apiRoot })
  const readFiles = (files: unknown): Promise<Attachment[]> => Promise.all(filesOf(files).map(toAttachment))
  const quotes = createQuotes({ botUserId, directory, readFiles })

  async function readEvent(event: unknown): Promise<InboundMessage | undefined> {
    if (!isMessage(event) || event.user === botUserId) return undefined
    const { channel, user, ts, files, attachments } = event
    // In the history, the first message of a thread is in its own thread.
    const threadId = event.thread_ts === ts ? undefined : textOf(event.thread_ts)
    const raw = typeof event.text === 'string' ? event.text : ''
    const { text, mentioned } = readText(raw, botUserId)
    const group = await groupOf(event)
    return {
      // `message` and `app_mention` report the same message, so the id is not that of the event.
      id: `${channel}:${ts}`,
      from: await senderOf(user),
      to: channel,
      ...(threadId !== undefined && { threadId, quoted: await quotes.quoteRoot(channel, threadId) }),
      ...(await quotes.readShares({ text, attachments: await readFiles(files) }, attachments)),
      ...(group && { group, mentioned: mentioned || event.parent_user_id === botUserId }),
    }
  }

  async function readPress(payload: unknown): Promise<InboundMessage | undefined> {
    const press = pressIn(payload)
    if (!press) return undefined
    const { channel, user, text, at, threadId } = press
    const group = await groupOf({ channel })
    return {
      id: `${channel}:${user}:${at}`,
      from: await senderOf(user),
      to: channel,
      text,
      ...(threadId !== undefined && { threadId }),
      ...(group && { group, mentioned: true }),
    }
  }

  async function senderOf(id: string): Promise<InboundMessage['from']> {
    const name = await directory.nameOf(id)
    return { id, ...(name !== undefined && { name }) }
  }

  /** `app_mention` does not say what kind of conversation it is from, but it is never a direct message. */
  async function groupOf({
    channel,
    channel_type: type,
  }: Pick<MessageEvent, 'channel' | 'channel_type'>): Promise<InboundMessage['group']> {
    if (type === 'im' || channel.startsWith('D')) return undefined
    if (type === undefined) return (await directory.isGroup(channel)) ? 'group' : 'channel'
    return type === 'mpim' ? 'group' : 'channel'
  }

  async function describeFile(file: SlackFile): Promise<SlackFile> {
    const id = file.file_access === 'check_file_info' ? textOf(file.id) : undefined
    return (id !== undefined && (await directory.fileOf(id))) || file
  }

  async function toAttachment(offered: SlackFile): Promise<Attachment> {
    const file = await describeFile(offered)
    const name = typeof file.name === 'string' ? file.name : 'file'
    const type = typeof file.mimetype === 'string' ? file.mimetype : 'application/octet-stream'
    return {
      name,
      type,
      ...(typeof file.size === 'number' && { size: file.size }),
      read: (signal) => readFile({ ...file, mimetype: type }, signal),
    }
  }

  return { readEvent, readPress }
}

function pressIn(payload: unknown) {
  const { type, user, channel, container, actions } = fieldsOf(payload)
  const { type: kind, value, action_ts: at } = fieldsOf(listOf(actions)[0])
  const [person, conversation] = [textOf(fieldsOf(user)['id']), textOf(fieldsOf(channel)['id'])]
  const [text, time] = [textOf(value), textOf(at)]
  if (type !== 'block_actions' || kind !== 'button' || !person || !conversation || !text || !time) return undefined
  const { thread_ts: thread, message_ts: message } = fieldsOf(container)
  const threadId = thread === message ? undefined : textOf(thread)
  return { channel: conversation, user: person, text, at: time, threadId }
}

function isMessage(event: unknown): event is MessageEvent {
  if (typeof event !== 'object' || event === null) return false
  const { type, subtype, bot_id: bot, user, channel, ts } = event as Record<string, unknown>
  if (type !== 'message' && type !== 'app_mention') return false
  if (bot !== undefined || !subtypes.has(subtype)) return false
  return [user, channel, ts].every((value) => typeof value === 'string' && value !== '')
}

/** Deleted files, and those over the limit of a free workspace, cannot be read any more. */
const gone: ReadonlySet<unknown> = new Set(['tombstone', 'hidden_by_limit'])

const filesOf = (files: unknown): SlackFile[] =>
  listOf(files).filter(
    (file): file is SlackFile => typeof file === 'object' && file !== null && !gone.has((file as SlackFile).mode),
  )
