// Turns a row of the Messages database into a message for the gateway.
import { createReadStream } from 'node:fs'
import { basename, normalize } from 'node:path'
import { phoneNumber, countOf, fieldsOf, listOf, textOf } from 'svc-gateway/kit'
import type { Attachment, InboundMessage, Log, QuotedMessage } from 'svc-gateway/plugin'

export interface Row {
  /** Continue after this number. */
  cursor: number
  /** Absent if the row is not a message of somebody else. */
  message?: InboundMessage
}

/** @returns a function that reads one row; it remembers the addresses of the own account that it meets */
export function createReader(log: Log): (params: unknown) => Row | undefined {
  const ownAddresses = new Set<string>()
  return (params) => {
    const row = fieldsOf(fieldsOf(params)['message'])
    const [id, guid, sender] = [countOf(row['id']), textOf(row['guid']), textOf(row['sender'])]
    if (id === undefined || guid === undefined) {
      log.debug({}, 'message ignored: it has an unknown shape')
      return undefined
    }
    const cursor = countOf(row['cursor']) ?? id
    if (row['is_from_me'] === true) {
      const address = textOf(row['destination_caller_id'])
      if (address !== undefined) ownAddresses.add(address)
      return { cursor }
    }
    // Messages to oneself are in the database twice, the second time as if somebody else had sent them.
    if (sender === undefined || ownAddresses.has(sender) || row['is_reaction'] === true) return { cursor }
    const message = messageOf(row, { id: guid, sender })
    return { cursor, ...(message && { message }) }
  }
}

function messageOf(
  row: Readonly<Record<string, unknown>>,
  { id, sender }: { id: string; sender: string },
): InboundMessage | undefined {
  const chat = textOf(row['chat_guid'])
  const isGroup = row['is_group'] === true
  // A reply to a group that is not known could only go to one of its members.
  if (isGroup && chat === undefined) return undefined
  const text = withoutPlaceholders(row['text'])
  const attachments = listOf(row['attachments']).map((file) => attachmentOf(fieldsOf(file)))
  if (text === '' && attachments.length === 0) return undefined
  const name = textOf(row['sender_name'])
  const quoted = quotedOf(row)
  return {
    id,
    from: { id: normalizeId(sender), ...(name !== undefined && { name }) },
    to: isGroup && chat !== undefined ? chat : sender,
    text,
    ...(isGroup && { group: 'group' }),
    ...(attachments.length > 0 && { attachments }),
    ...(quoted && { quoted }),
  }
}

/** The text and the author are there if the database still has the message. Of its files, imsg tells nothing. */
function quotedOf(row: Readonly<Record<string, unknown>>): QuotedMessage | undefined {
  const id = textOf(row['thread_originator_guid']) ?? textOf(row['reply_to_guid'])
  if (id === undefined) return undefined
  const [text, author] = [withoutPlaceholders(row['reply_to_text']), textOf(row['reply_to_sender'])]
  return { id, ...(text && { text }), ...(author !== undefined && { from: { id: normalizeId(author) } }) }
}

/** Messages puts a placeholder where a file is. */
const withoutPlaceholders = (text: unknown): string => (textOf(text) ?? '').replaceAll('\u{FFFC}', '').trim()

/** Messages and people write phone numbers in several ways. */
export const normalizeId = (id: string): string => phoneNumber(id) ?? id.replace(/^mailto:/i, '')

function attachmentOf(file: Readonly<Record<string, unknown>>): Attachment {
  const [path, size] = [textOf(file['original_path']), countOf(file['total_bytes'])]
  const isReadable = path !== undefined && file['missing'] !== true && isAttachment(path)
  return {
    name: textOf(file['transfer_name']) ?? basename(textOf(file['filename']) ?? 'file'),
    type: textOf(file['mime_type']) ?? 'application/octet-stream',
    ...(size !== undefined && { size }),
    ...(isReadable && { read: async (signal) => createReadStream(path, { signal }) }),
  }
}

/** Only files that Messages has received are read, whatever the database says. */
const isAttachment = (path: string): boolean => normalize(path).includes('/Library/Messages/Attachments/')
