// Sends text and files, and finds out afterwards whether a message with an unknown result has arrived.
import type { WebClient } from '@slack/web-api'
import type { Connection, ExtensionState, OutboundMessage, SendResult } from 'svc-gateway/plugin'
import type { Directory } from './directory.ts'
import { toUnsent, toUnsentBefore } from './errors.ts'
import { uploadFile } from './files.ts'
import { createReconcile } from './reconcile.ts'
import { createUploads } from './uploads.ts'

interface SenderDeps {
  web: WebClient
  directory: Pick<Directory, 'conversationOf'>
  state: ExtensionState
}

/** The type of the metadata that carries the key of a message. */
export const eventType = 'svc_gateway_message'

interface Destination {
  channel: string
  thread_ts: string | undefined
}

export function createSender({ web, directory, state }: SenderDeps): Pick<Connection, 'send' | 'reconcile'> {
  const uploads = createUploads(state)

  async function send(message: OutboundMessage): Promise<SendResult> {
    let channel: string
    try {
      channel = await directory.conversationOf(message.to)
    } catch (error) {
      return toUnsentBefore(error)
    }
    const destination = { channel, thread_ts: message.threadId }
    return message.file
      ? await sendFile(message, { file: message.file, destination })
      : await sendText(message, destination)
  }

  async function sendText({ key, text }: OutboundMessage, destination: Destination): Promise<SendResult> {
    const metadata = { event_type: eventType, event_payload: { key } }
    try {
      const { ts } = await web.chat.postMessage({ ...toThread(destination), markdown_text: text, metadata })
      return { outcome: 'sent', ...(ts !== undefined && { id: ts }) }
    } catch (error) {
      return toUnsent(error)
    }
  }

  async function sendFile(
    { key, text }: OutboundMessage,
    { file, destination }: { file: NonNullable<OutboundMessage['file']>; destination: Destination },
  ): Promise<SendResult> {
    let id: string
    try {
      id = await uploadFile(web, file)
      // A message with a file cannot carry a key, so the id of the file is kept instead.
      await uploads.add(key, id)
    } catch (error) {
      return toUnsentBefore(error)
    }
    try {
      const { channel: channel_id, ...thread } = toThread(destination)
      const comment = text === '' ? {} : { initial_comment: text }
      await web.files.completeUploadExternal({ files: [{ id, title: file.name }], channel_id, ...thread, ...comment })
      return { outcome: 'sent', id }
    } catch (error) {
      return toUnsent(error)
    }
  }

  return { send, reconcile: createReconcile({ web, directory, uploads }) }
}

const toThread = ({ channel, thread_ts }: Destination) => ({ channel, ...(thread_ts !== undefined && { thread_ts }) })
