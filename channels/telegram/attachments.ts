// The files of a Telegram message.
import type { ExternalReplyInfo, Message } from 'grammy/types'
import type { Attachment } from 'svc-gateway/plugin'
import type { Client } from './client.ts'

/** The fields of a message that hold a file, with the name and type of files that have none. */
const fields = {
  photo: ['photo.jpg', 'image/jpeg'],
  document: ['file', 'application/octet-stream'],
  audio: ['audio.mp3', 'audio/mpeg'],
  voice: ['voice.ogg', 'audio/ogg'],
  video: ['video.mp4', 'video/mp4'],
  video_note: ['video.mp4', 'video/mp4'],
  sticker: ['sticker.webp', 'image/webp'],
} as const

interface TelegramFile {
  file_id: string
  file_name?: unknown
  mime_type?: unknown
  file_size?: unknown
}

export function attachmentsOf(message: Message | ExternalReplyInfo, client: Client): Attachment[] {
  return Object.entries(fields).flatMap(([field, [name, type]]) => {
    const value: unknown = message[field as keyof typeof fields]
    // A photo is a list of the same picture in several sizes, the largest one last.
    const file: unknown = Array.isArray(value) ? value.at(-1) : value
    return isFile(file) ? [attachmentOf(file, { name, type }, client)] : []
  })
}

const isFile = (value: unknown): value is TelegramFile =>
  typeof (value as Partial<TelegramFile> | null | undefined)?.file_id === 'string'

function attachmentOf(
  { file_id, file_name, mime_type, file_size }: TelegramFile,
  { name, type }: Pick<Attachment, 'name' | 'type'>,
  client: Client,
): Attachment {
  return {
    name: typeof file_name === 'string' ? file_name : name,
    type: typeof mime_type === 'string' ? mime_type : type,
    ...(typeof file_size === 'number' && { size: file_size }),
    // Telegram refuses files of more than 20 MB.
    read: (signal) => client.download(file_id, signal),
  }
}
