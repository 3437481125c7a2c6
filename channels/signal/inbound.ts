// Turns an event of signal-cli into a message for the gateway.
import type { Attachment, ByteSource, InboundMessage, Log, QuotedMessage } from 'svc-gateway/plugin'
import { countOf, fieldsOf, fieldsOfJson, listOf, textOf } from 'svc-gateway/kit'
import type { Call } from './rpc.ts'

interface Reader {
  /** The phone number of the own account. */
  account: string
  call: Call
  log: Log
}

/** @returns nothing if the event is not a message of somebody else, such as a receipt or an own message */
export function readMessage(data: string, { account, call, log }: Reader): InboundMessage | undefined {
  const envelope = envelopeOf(data, account, log)
  // Messages from the account's other devices are sync messages, without this field.
  if (envelope?.['dataMessage'] === undefined) return undefined
  const sender = textOf(envelope['sourceNumber']) ?? textOf(envelope['sourceUuid'])
  const message = fieldsOf(envelope['dataMessage'])
  const timestamp = countOf(message['timestamp'])
  if (sender === undefined || timestamp === undefined) {
    log.debug({}, 'message ignored: it has an unknown shape')
    return undefined
  }
  if (sender === account) return undefined
  return contentOf(message, {
    id: `${textOf(envelope['sourceUuid']) ?? sender}:${timestamp}`,
    sender,
    uuid: textOf(envelope['sourceUuid']),
    name: textOf(envelope['sourceName']),
    account,
    call,
  })
}

function envelopeOf(data: string, account: string, log: Log): Fields | undefined {
  const event = fieldsOfJson(data)
  if (typeof event['envelope'] !== 'object') {
    log.debug({}, 'event ignored: it has an unknown shape')
    return undefined
  }
  if (event['account'] !== undefined && event['account'] !== account) {
    log.warn({}, 'message ignored: signal-cli received it for another account')
    return undefined
  }
  // The sender's key may have changed, for example.
  if (event['exception'] !== undefined)
    log.warn({ type: textOf(fieldsOf(event['exception'])['type']) }, 'signal-cli could not read a message')
  return fieldsOf(event['envelope'])
}

type Fields = Readonly<Record<string, unknown>>

interface Origin extends Omit<Reader, 'log'> {
  id: string
  sender: string
  /** The UUID, if the sender is named by a phone number. */
  uuid: string | undefined
  name: string | undefined
}

function contentOf(message: Fields, origin: Origin): InboundMessage | undefined {
  const { id, sender, uuid, name, account } = origin
  const groupId = textOf(fieldsOf(message['groupInfo'])['groupId'])
  const mentions = listOf(message['mentions']).map(fieldsOf)
  const text = replaceMentions(textOf(message['message']) ?? '', mentions, account)
  const attachments = attachmentsOf(message, { sender, groupId, call: origin.call })
  // Reactions, changes of a group and the like. Nothing may be left of a text that only mentions the account.
  if (textOf(message['message']) === undefined && attachments.length === 0) return undefined
  const quoted = quotedOf(fieldsOf(message['quote']), { sender, groupId, call: origin.call, account })
  if (text === '' && attachments.length === 0 && !quoted) return undefined
  const isMentioned = quoted?.isOwn === true || mentions.some(({ number }) => number === account)
  return {
    id,
    from: {
      id: sender,
      ...(uuid !== undefined && uuid !== sender && { otherIds: [uuid] }),
      ...(name !== undefined && { name }),
    },
    to: groupId ?? sender,
    text,
    ...(groupId !== undefined && { group: 'group', mentioned: isMentioned }),
    ...(attachments.length > 0 && { attachments }),
    ...(quoted && { quoted }),
  }
}

/** The id of a message is its time. It names one message only together with its author. */
function quotedOf(quote: Fields, origin: FileOrigin & { account: string }): QuotedMessage | undefined {
  const { id, text = '', authorNumber, authorUuid } = quote
  const timestamp = countOf(id)
  const author = textOf(authorNumber) ?? textOf(authorUuid)
  if (timestamp === undefined || author === undefined) return undefined
  const attachments = listOf(quote['attachments']).map((file) => quotedFileOf(fieldsOf(file), origin))
  return {
    ...(author === origin.account ? { id: String(timestamp), isOwn: true } : { isOwn: false, from: { id: author } }),
    text: replaceMentions(textOf(text) ?? '', listOf(quote['mentions']).map(fieldsOf), origin.account),
    ...(attachments.length > 0 && { attachments }),
  }
}

/** Of a picture or a video, Signal has a small picture. */
function quotedFileOf({ filename, contentType, thumbnail }: Fields, origin: FileOrigin): Attachment {
  if (textOf(fieldsOf(thumbnail)['id']) !== undefined) return attachmentOf(fieldsOf(thumbnail), origin)
  return { name: textOf(filename) ?? 'file', type: textOf(contentType) ?? 'application/octet-stream' }
}

/** Signal puts one placeholder character in the text for each mention, and says separately who is meant. */
function replaceMentions(text: string, mentions: readonly Fields[], account: string): string {
  const placed = mentions.flatMap(({ start, length, number, uuid }) => {
    const [from, count] = [countOf(start), countOf(length)]
    if (from === undefined || count === undefined || from + count > text.length) return []
    return [{ from, end: from + count, name: number === account ? '' : `@${textOf(number) ?? textOf(uuid) ?? ''}` }]
  })
  if (placed.length === 0) return text
  // From the end, so that the positions before it stay valid.
  return placed
    .toSorted((a, b) => b.from - a.from)
    .reduce((result, { from, end, name }) => result.slice(0, from) + name + result.slice(end), text)
    .trim()
}

function attachmentsOf(message: Fields, origin: FileOrigin): Attachment[] {
  const files = listOf(message['attachments'])
    .map(fieldsOf)
    .filter(({ contentType }) => contentType !== longText)
  // Whoever sends a file to be viewed once does not expect it to be kept.
  return files.map((file) => attachmentOf(file, message['viewOnce'] === true ? undefined : origin))
}

interface FileOrigin extends Pick<Origin, 'sender' | 'call'> {
  groupId: string | undefined
}

function attachmentOf({ id, filename, contentType, size }: Fields, origin: FileOrigin | undefined): Attachment {
  const [fileId, bytes] = [textOf(id), countOf(size)]
  return {
    name: textOf(filename) ?? fileId ?? 'file',
    type: textOf(contentType) ?? 'application/octet-stream',
    ...(bytes !== undefined && { size: bytes }),
    ...(origin && fileId !== undefined && { read: (signal) => readFile(fileId, origin, signal) }),
  }
}

/** The type of an attachment that holds the rest of a long text; signal-cli has put it into the message already. */
const longText = 'text/x-signal-plain'

/** signal-cli puts the whole file into its answer. */
async function readFile(id: string, { call, groupId, sender }: FileOrigin, signal: AbortSignal): Promise<ByteSource> {
  const owner = groupId === undefined ? { recipient: sender } : { groupId }
  const { data } = fieldsOf(await call('getAttachment', { id, ...owner }, signal))
  if (typeof data !== 'string') throw new Error('signal-cli answered without the file.')
  return [Buffer.from(data, 'base64')]
}
