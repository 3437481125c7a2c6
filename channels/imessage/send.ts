// Sends one message with imsg, and finds out whether it arrived.
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type OutboundMessage, type SendResult } from 'svc-gateway/plugin'
import { fieldsOf, textOf } from 'svc-gateway/kit'
import { type Imsg, ImsgError, NotRunningError } from './imsg.ts'
import type { SentLog } from './sent-log.ts'

export interface Sender {
  imsg: Imsg
  sentLog: SentLog
  /** Whether Messages can be told the id of a message, and be asked about it. */
  canTrack: boolean
  /** Called when imsg must be started again before it sends anything. */
  onBlocked(): void
}

/** The errors of imsg that matter here, besides those of JSON-RPC. */
const code = { unknown: -32001, databaseUnavailable: -32002, bridgeUnavailable: -32003, blocked: -32004, busy: -32000 }
const invalidParams = -32602
const methodNotFound = -32601

/**
 * A text is tracked if imsg runs inside Messages (its bridge) and the conversation exists: Messages then refuses to
 * send it twice, and can be asked about it.
 */
export async function sendMessage(sender: Sender, message: OutboundMessage): Promise<SendResult> {
  const wasTracked = sender.sentLog.find(message.key) === 'tracked'
  if (!message.file && (wasTracked || sender.canTrack)) {
    const result = await attempt(sender, message, 'tracked')
    // Tracked before, it may still be on its way: sending it otherwise could duplicate it.
    if (result !== 'refused') return result
    if (wasTracked) return failed('transient', 'Messages cannot track the message at the moment.')
  }
  const result = await attempt(sender, message, 'untracked')
  return result === 'refused' ? failed('permanent', 'imsg does not accept the recipient or the message.') : result
}

/** The log is written before the message leaves, so that a crash in between leaves a trace. */
async function attempt(
  { imsg, sentLog, onBlocked }: Sender,
  message: OutboundMessage,
  way: 'tracked' | 'untracked',
): Promise<SendResult | 'refused'> {
  const before = sentLog.find(message.key)
  await sentLog.record(message.key, way)
  try {
    const { guid } = way === 'tracked' ? await sendTracked(imsg, message) : await sendUntracked(imsg, message)
    await sentLog.record(message.key, 'sent')
    const id = textOf(guid)
    return { outcome: 'sent', ...(id !== undefined && { id }) }
  } catch (error) {
    if (error instanceof ImsgError && error.code === code.blocked) onBlocked()
    const result = resultOf(error)
    if (result !== 'refused' && result.outcome !== 'failed') return result
    // Messages also refuses a message that it has sent already.
    const mayBeKnown = way === 'tracked' && error instanceof ImsgError
    if (mayBeKnown && (await isKnown(imsg, message.key))) return { outcome: 'sent', id: idOf(message.key) }
    await sentLog.record(message.key, before)
    return result
  }
}

const sendTracked = (imsg: Imsg, { key, to, text }: OutboundMessage) =>
  imsg.call('send.tracked', { ...recipientOf(to), text, attempt_id: idOf(key) })

async function sendUntracked(imsg: Imsg, { to, text, file }: OutboundMessage) {
  const content = { ...recipientOf(to), ...(text !== '' && { text }) }
  if (!file) return await imsg.call('send', content)
  const folder = await mkdtemp(join(tmpdir(), 'svc-gateway-'))
  try {
    const path = join(folder, basename(file.name) || 'file')
    await writeFile(path, file.data, { mode: 0o600 })
    return await imsg.call('send', { ...content, file: path })
  } finally {
    // imsg has copied the file by now.
    await rm(folder, { recursive: true, force: true })
  }
}

/** `refused`: not in this way. */
function resultOf(error: unknown): SendResult | 'refused' {
  if (error instanceof NotRunningError) return failed('transient', 'imsg is not running.')
  if (!(error instanceof ImsgError)) return { outcome: 'unknown', detail: 'imsg did not answer.' }
  // The message waited behind another one that imsg cannot finish. Its data is about that one.
  if (error.code === code.blocked) return failed('transient', 'An earlier message blocks imsg; it is started again.')
  if (error.code === code.unknown || error.data['retry_safe'] === false)
    return { outcome: 'unknown', detail: 'Messages did not confirm that the message was sent.' }
  if (error.code === invalidParams || error.code === methodNotFound || error.code === code.bridgeUnavailable)
    return 'refused'
  const isUnsent = error.data['disposition'] === 'not_started'
  if (isUnsent || error.code === code.databaseUnavailable || error.code === code.busy)
    return failed('transient', `Messages could not send the message (error ${error.code}).`)
  return { outcome: 'unknown', detail: `imsg failed while it sent the message (error ${error.code}).` }
}

/** What became of a message that was sent before. */
export async function reconcile({ imsg, sentLog }: Sender, key: string): Promise<'sent' | 'absent' | 'unknown'> {
  const way = sentLog.find(key)
  if (way === undefined) return 'absent'
  if (way === 'sent') return 'sent'
  if (way === 'untracked') return 'unknown'
  // If it is still on its way, Messages refuses the second one, because it has the same id.
  return (await isKnown(imsg, key)) ? 'sent' : 'absent'
}

/** Whether Messages has a message with the id of this key, and could send it. */
const isKnown = async (imsg: Imsg, key: string): Promise<boolean> => (await statusOf(imsg, idOf(key)))['error'] === 0

/** Whether the account has sent this message. No, if imsg cannot tell. */
export async function isOwnMessage(imsg: Imsg, guid: string): Promise<boolean> {
  try {
    return (await statusOf(imsg, guid))['is_sent'] === true
  } catch (error) {
    if (error instanceof ImsgError) return false
    throw error
  }
}

/** The status is empty if Messages does not know the message. */
const statusOf = async (imsg: Imsg, guid: string) =>
  fieldsOf((await imsg.call('message.send_status', { guid }))['status_fields'])

/** A conversation is named by its id, a person by a phone number or an email address. */
export const recipientOf = (to: string): object => (to.includes(';') ? { chat_guid: to } : { to })

/** A UUID that is the same for each attempt to send the message. */
function idOf(key: string): string {
  const hash = createHash('sha256').update(key).digest('hex')
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-')
}

const failed = (reason: 'permanent' | 'transient', detail: string) => ({ outcome: 'failed', reason, detail }) as const
