// Sends text and files, and finds out afterwards whether a message with an unknown result has arrived.
import type { WebClient } from '@slack/web-api'
import type {
  Connection,
  ExtensionState,
  MessageChoice,
  OutboundMessage,
  SendResult,
  SentMessage,
} from 'svc-gateway/plugin'
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

type Sender = Pick<Connection, 'send' | 'removeChoices' | 'reconcile'>

export function createSender({ web, directory, state }: SenderDeps): Sender {
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

  async function sendText({ key, text, choices }: OutboundMessage, destination: Destination): Promise<SendResult> {
    const metadata = { event_type: eventType, event_payload: { key } }
    const content = choices ? toBlocks(text, choices) : { markdown_text: text }
    try {
      const { ts } = await web.chat.postMessage({ ...toThread(destination), ...content, ...withoutPreviews, metadata })
      // Two conversations may have messages of the same time.
      return { outcome: 'sent', ...(ts !== undefined && { id: `${destination.channel}:${ts}` }) }
    } catch (error) {
      return toUnsent(error)
    }
  }

  async function sendFile(
    { key }: OutboundMessage,
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
      await web.files.completeUploadExternal({ files: [{ id, title: file.name }], channel_id, ...thread })
      return { outcome: 'sent', id }
    } catch (error) {
      return toUnsent(error)
    }
  }

  async function removeChoices({ id, text }: SentMessage): Promise<void> {
    const [channel = '', ts = ''] = id.split(':')
    await web.chat.update({ channel, ts, ...toBlocks(text), ...withoutPreviews })
  }

  return { send, removeChoices, reconcile: createReconcile({ web, directory, uploads }) }
}

/** For a preview, Slack would fetch an address that the agent wrote, before anybody has opened it. */
const withoutPreviews = { unfurl_links: false, unfurl_media: false } as const

/** Buttons need blocks, and Slack does not accept `markdown_text` beside them. `text` is shown in notifications. */
function toBlocks(markdown: string, choices: readonly MessageChoice[] = []) {
  const [firstLine = ''] = markdown.split('\n', 1)
  const elements = choices.map(({ label, text }, index) => ({
    type: 'button' as const,
    action_id: `choice-${index}`,
    text: { type: 'plain_text' as const, text: label },
    value: text,
  }))
  const buttons = elements.length > 0 ? [{ type: 'actions' as const, elements }] : []
  return { text: escape(firstLine), blocks: [{ type: 'markdown' as const, text: markdown }, ...buttons] }
}

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const toThread = ({ channel, thread_ts }: Destination) => ({ channel, ...(thread_ts !== undefined && { thread_ts }) })
