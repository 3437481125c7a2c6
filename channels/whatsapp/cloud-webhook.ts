// Answers the webhook requests of Meta: the handshake, and messages that people have sent.
import { createHmac } from 'node:crypto'
import { clip, createMatcher, fieldsOf, fieldsOfJson, listOf, textOf } from 'svc-gateway/kit'
import {
  type Attachment,
  type ChannelContext,
  type InboundMessage,
  type PlatformRequest,
  type PlatformResponse,
} from 'svc-gateway/plugin'
import { apiErrors, type CloudApi } from './cloud-api.ts'
import type { CloudConfig } from './config.ts'

interface WebhookOptions {
  config: CloudConfig
  context: ChannelContext
  api: CloudApi
}

export function createWebhook({ config, context, api }: WebhookOptions) {
  async function accept({ body, signal }: PlatformRequest): Promise<PlatformResponse> {
    const payload = fieldsOfJson(Buffer.from(body).toString())
    for (const value of valuesOf(payload, config.phoneNumberId)) {
      for (const status of listOf(value.statuses).map(fieldsOf)) await reportFailure(status, context)
      const names = namesOf(value)
      for (const item of listOf(value.messages).map(fieldsOf)) {
        const message = readMessage(item, names, api)
        if (message) await context.receive(message, { signal })
        else context.log.debug({}, 'an item of a webhook request is not a message that can be read')
      }
    }
    return { status: 200 }
  }

  return async (request: PlatformRequest): Promise<PlatformResponse> => {
    const { method, headers, query, body } = request
    if (method === 'GET') return answerHandshake(query, config.verifyToken)
    if (!isSigned(body, headers['x-hub-signature-256'], config.appSecret)) return { status: 401 }
    return await accept(request)
  }
}

/** When the webhook is set up, Meta asks whether the address knows the verify token. */
function answerHandshake(query: Readonly<Record<string, string>>, verifyToken: string): PlatformResponse {
  const { 'hub.mode': mode, 'hub.verify_token': token = '', 'hub.challenge': challenge = '' } = query
  if (mode !== 'subscribe' || !createMatcher(verifyToken)(token)) return { status: 403 }
  return { status: 200, body: clip(challenge, 200) }
}

function isSigned(body: Uint8Array, signature: string | undefined, appSecret: string): boolean {
  const digest = createHmac('sha256', appSecret).update(body).digest('hex')
  return signature !== undefined && createMatcher(`sha256=${digest}`)(signature)
}

type Fields = Readonly<Record<string, unknown>>

/** The changes that concern this phone number. An app may serve several numbers with one webhook. */
const valuesOf = (payload: Fields, phoneNumberId: string): Fields[] =>
  listOf(payload.entry)
    .flatMap((entry) => listOf(fieldsOf(entry).changes))
    .map(fieldsOf)
    .filter(({ field }) => field === 'messages')
    .map(({ value }) => fieldsOf(value))
    .filter(({ metadata }) => fieldsOf(metadata).phone_number_id === phoneNumberId)

/** The display names of the senders. */
const namesOf = ({ contacts }: Fields): Map<unknown, string | undefined> =>
  new Map(
    listOf(contacts)
      .map(fieldsOf)
      .map((contact) => [contact.wa_id, textOf(fieldsOf(contact.profile).name)]),
  )

function readMessage(item: Fields, names: Map<unknown, string | undefined>, api: CloudApi): InboundMessage | undefined {
  const [id, sender, type] = [textOf(item.id), textOf(item.from), textOf(item.type)]
  if (!id || !type || !sender || !/^[0-9]+$/.test(sender)) return undefined
  const content = fieldsOf(item[type])
  const name = names.get(item.from)
  const attachment = readAttachment(type, content, api)
  const text = contentOf(type, content)
  if (!attachment && text === '') return undefined
  return {
    id,
    from: { id: `+${sender}`, ...(name && { name }) },
    to: `+${sender}`,
    text,
    ...(attachment && { attachments: [attachment] }),
    route: { messageId: id },
  }
}

/** The text of a message, the caption of a file, or the label of the button that was pressed. */
function contentOf(type: string, content: Fields): string {
  if (type === 'text') return textOf(content.body) ?? ''
  if (type === 'button') return textOf(content.text) ?? ''
  if (type === 'interactive') return textOf(fieldsOf(content.button_reply ?? content.list_reply).title) ?? ''
  return textOf(content.caption) ?? ''
}

function readAttachment(kind: string, content: Fields, api: CloudApi): Attachment | undefined {
  const id = textOf(content.id)
  if (!['image', 'video', 'audio', 'document', 'sticker'].includes(kind) || !id) return undefined
  const type = textOf(content.mime_type)?.split(';')[0]?.trim() || 'application/octet-stream'
  return {
    name: textOf(content.filename) || `${kind}.${type.split('/')[1]?.split('+')[0] || 'bin'}`,
    type,
    read: (signal) => download(id, api, signal),
  }
}

/** Meta first gives an address for the file. */
async function download(id: string, api: CloudApi, signal: AbortSignal): Promise<Response> {
  const found = await api.get(id)
  const address = textOf(fieldsOf(await found.json()).url)
  if (!found.ok || !address) throw new Error('the file has no address')
  return await api.download(address, signal)
}

/** The API accepts messages that it then cannot deliver, and says so only here. */
async function reportFailure(item: Fields, { undelivered, log }: ChannelContext): Promise<void> {
  if (item.status !== 'failed') return
  const key = textOf(item.biz_opaque_callback_data)
  if (key === undefined) return log.debug({}, 'a status is ignored: its message was not sent by the gateway')
  const code = Number(fieldsOf(listOf(item.errors)[0]).code)
  const [, sentence = 'WhatsApp could not deliver the message.'] = apiErrors.get(code) ?? []
  await undelivered(key, Number.isNaN(code) ? sentence : `${sentence} (${code})`)
}
