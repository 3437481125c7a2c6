// Sends and receives messages through the Cloud API of a WhatsApp Business account.
import {
  AuthError,
  type ChannelContext,
  type Connection,
  type Json,
  type OutboundMessage,
  type SendResult,
} from 'svc-gateway/plugin'
import { connectError, connectStatusError, fieldsOf, resultOfError, resultOfResponse } from 'svc-gateway/kit'
import { type CloudApi, createCloudApi, defaultRoot, resultOfApiError } from './cloud-api.ts'
import { createWebhook } from './cloud-webhook.ts'
import type { CloudConfig } from './config.ts'

export async function connectCloud(config: CloudConfig, context: ChannelContext): Promise<Connection> {
  const stop = new AbortController()
  const api = createCloudApi(config, stop.signal)
  await probe(config, api)
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

async function probe(config: CloudConfig, api: CloudApi): Promise<void> {
  const service = { name: "WhatsApp's Cloud API", url: config.apiRoot ?? defaultRoot, setting: 'apiRoot' }
  const response = await readNumber(config, api).catch((error: unknown) => {
    throw connectError(error, service)
  })
  if (response.ok) return
  const result = await resultOfApiError(response)
  if (result.outcome === 'failed' && result.reason === 'auth')
    throw new AuthError(`Meta refuses the credentials. ${result.detail}`)
  // An answer without a code of the API may be that of a proxy.
  const isOfApi = result.detail !== resultOfResponse(response).detail
  throw isOfApi ? new Error(result.detail) : connectStatusError(response, service)
}

/** Rejects if another service answers, such as the login page of a network. */
async function readNumber({ phoneNumberId }: CloudConfig, api: CloudApi): Promise<Response> {
  const response = await api.get(phoneNumberId)
  if (response.ok && fieldsOf(await response.json())['id'] !== phoneNumberId) throw new TypeError('the id is missing')
  return response
}

async function sendMessage(api: CloudApi, { key, to, text, file }: OutboundMessage): Promise<SendResult> {
  const recipient = {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: to.replace('+', ''),
    // Comes back with the status of the message.
    biz_opaque_callback_data: key,
  }
  if (!file) return await post(api, { ...recipient, type: 'text', text: { body: text, preview_url: false } })
  const uploaded = await upload(api, file)
  if (!('mediaId' in uploaded)) return uploaded
  const type = kindOf(file.type, text)
  const caption = text === '' ? {} : { caption: text }
  const fileName = type === 'document' ? { filename: file.name } : {}
  return await post(api, { ...recipient, type, [type]: { id: uploaded.mediaId, ...caption, ...fileName } })
}

async function post(api: CloudApi, body: Json): Promise<SendResult> {
  const response = await api.post('messages', body)
  if (!response.ok) return await resultOfApiError(response)
  const { messages } = (await response.json()) as { messages?: { id?: unknown }[] }
  const id = messages?.[0]?.id
  return { outcome: 'sent', ...(typeof id === 'string' && { id }) }
}

/** Nobody sees an uploaded file before a message names it, so a failed upload may be repeated. */
async function upload(
  api: CloudApi,
  file: NonNullable<OutboundMessage['file']>,
): Promise<SendResult | { mediaId: string }> {
  const form = new FormData()
  form.set('messaging_product', 'whatsapp')
  form.set('file', new Blob([new Uint8Array(file.data)], { type: file.type }), file.name)
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

/** Audio has no caption, so with a text it is sent as a document. */
function kindOf(type: string, caption: string): 'image' | 'video' | 'audio' | 'document' {
  if (type === 'image/jpeg' || type === 'image/png') return 'image'
  if (type === 'video/mp4' || type === 'video/3gpp') return 'video'
  return caption === '' && /^audio\/(aac|amr|mpeg|mp4|ogg)$/.test(type) ? 'audio' : 'document'
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
