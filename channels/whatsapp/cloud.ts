// Sends and receives messages through the Cloud API of a WhatsApp Business account.
import type { ChannelContext, Connection, Json, OutboundMessage, SendResult } from 'svc-gateway/plugin'
import { resultOfError } from 'svc-gateway/kit'
import { isCloudGroup, isUserId } from './address.ts'
import { type CloudApi, createCloudApi, resultOfApiError } from './cloud-api.ts'
import { type CloudFile, prepareFile } from './cloud-file.ts'
import { probe } from './cloud-probe.ts'
import { checkSetup } from './cloud-setup.ts'
import { createWebhook } from './cloud-webhook.ts'
import type { CloudConfig } from './config.ts'

export async function connectCloud(config: CloudConfig, context: ChannelContext): Promise<Connection> {
  const stop = new AbortController()
  const api = createCloudApi(config, stop.signal)
  await probe(config, api)
  await checkSetup(config, api, context)
  return {
    handle: createWebhook({ config, context, api }),
    send: (message) => sendMessage(api, message).catch(resultOfError),
    async typing(_to, on, route) {
      const messageId = messageIdOf(route)
      // The indicator ends by itself, or with the answer.
      if (on && messageId !== undefined) await (await api.post('messages', typingOn(messageId))).body?.cancel()
    },
    close: async () => stop.abort(),
  }
}

async function sendMessage(api: CloudApi, { key, to, text, file }: OutboundMessage): Promise<SendResult> {
  const head = {
    messaging_product: 'whatsapp',
    ...recipientOf(to),
    // Comes back with the status of the message.
    biz_opaque_callback_data: key,
  }
  if (!file) return await post(api, { ...head, type: 'text', text: { body: text, preview_url: false } })
  const prepared = prepareFile(file)
  if ('outcome' in prepared) return prepared
  const uploaded = await upload(api, prepared)
  if (!('mediaId' in uploaded)) return uploaded
  const { kind, name } = prepared
  const caption = text === '' || kind === 'audio' ? {} : { caption: text }
  const fileName = kind === 'document' ? { filename: name } : {}
  const withFile = { ...head, type: kind, [kind]: { id: uploaded.mediaId, ...caption, ...fileName } }
  if (text === '' || kind !== 'audio') return await post(api, withFile)
  return await postInOrder(api, { ...head, type: 'text', text: { body: text, preview_url: false } }, withFile)
}

/** Audio has no caption, so its text goes before it, and is not sent again if only the audio fails. */
async function postInOrder(api: CloudApi, text: Json, audio: Json): Promise<SendResult> {
  const sent = await post(api, text)
  if (sent.outcome !== 'sent') return sent
  const result = await post(api, audio).catch(resultOfError)
  if (result.outcome !== 'failed') return result
  return { ...result, reason: 'permanent', detail: `The text was sent, but not the file. ${result.detail}` }
}

/** In the field for a number, the API takes a business-scoped id for a number, accepts the message and sends nothing. */
function recipientOf(to: string): Readonly<Record<string, string>> {
  if (isCloudGroup(to)) return { recipient_type: 'group', to }
  return { recipient_type: 'individual', ...(isUserId(to) ? { recipient: to } : { to: to.replace('+', '') }) }
}

async function post(api: CloudApi, body: Json): Promise<SendResult> {
  const response = await api.post('messages', body)
  if (!response.ok) return await resultOfApiError(response)
  const { messages } = (await response.json()) as { messages?: { id?: unknown }[] }
  const id = messages?.[0]?.id
  return { outcome: 'sent', ...(typeof id === 'string' && { id }) }
}

/** Nobody sees an uploaded file before a message names it, so a failed upload may be repeated. */
async function upload(api: CloudApi, { data, name, type }: CloudFile): Promise<SendResult | { mediaId: string }> {
  const form = new FormData()
  form.set('messaging_product', 'whatsapp')
  form.set('type', type)
  form.set('file', new Blob([new Uint8Array(data)], { type }), name)
  const notUploaded = { outcome: 'failed', reason: 'transient', detail: 'The file could not be uploaded.' } as const
  const response = await api.post('media', form).catch(() => undefined)
  if (!response) return notUploaded
  if (!response.ok) {
    const result = await resultOfApiError(response)
    return result.outcome === 'unknown' ? notUploaded : result
  }
  const { id } = (await response.json()) as { id?: unknown }
  return typeof id === 'string' ? { mediaId: id } : notUploaded
}

const typingOn = (messageId: string): Json => ({
  messaging_product: 'whatsapp',
  status: 'read',
  message_id: messageId,
  typing_indicator: { type: 'text' },
})

/** The typing indicator belongs to a message that was received. */
function messageIdOf(route: Json | undefined): string | undefined {
  const id = typeof route === 'object' && route !== null && 'messageId' in route ? route.messageId : undefined
  return typeof id === 'string' ? id : undefined
}
