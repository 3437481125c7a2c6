// Answers the webhook requests of Meta: the handshake, and messages that people have sent.
import { createHmac } from 'node:crypto'
import { clip, createMatcher, fieldsOf, fieldsOfJson, line, listOf, textOf } from 'svc-gateway/kit'
import {
  type Attachment,
  type ChannelContext,
  type InboundMessage,
  type PlatformRequest,
  type PlatformResponse,
} from 'svc-gateway/plugin'
import { isCloudGroup, isUserId } from './address.ts'
import { apiErrors, type CloudApi } from './cloud-api.ts'
import { createRecentMessages } from './cloud-context.ts'
import type { CloudConfig } from './config.ts'
import { type Card, describeCards, describePlace, unreadable } from './other-content.ts'

interface WebhookOptions {
  config: CloudConfig
  context: ChannelContext
  api: CloudApi
}

export function createWebhook({ config, context, api }: WebhookOptions) {
  const recent = createRecentMessages()

  /** Whatever is not received is confirmed all the same, so the log says what it was. */
  async function acceptMessages(value: Fields, signal: AbortSignal): Promise<void> {
    for (const { code } of listOf(value.errors).map(fieldsOf))
      context.log.warn({ code: Number(code) }, 'Meta reports an error of the WhatsApp account')
    for (const status of listOf(value.statuses).map(fieldsOf)) await reportFailure(status, context)
    for (const item of listOf(value.messages).map(fieldsOf)) {
      const message = readMessage(item, value, api)
      if (typeof message !== 'string') await context.receive(recent.withContext(message, { item, value }), { signal })
      else context.log.info({ type: nameOf(item.type), reason: message }, 'a message was ignored')
    }
  }

  async function accept({ body, signal }: PlatformRequest): Promise<PlatformResponse> {
    for (const { field, value } of changesOf(fieldsOfJson(Buffer.from(body).toString()))) {
      if (field !== 'messages') context.log.debug({ field: nameOf(field) }, 'a change of another kind was ignored')
      else if (fieldsOf(value.metadata).phone_number_id === config.phoneNumberId) await acceptMessages(value, signal)
      else context.log.debug({}, 'messages of another phone number were ignored')
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

/** An app may serve several numbers with one webhook, and several kinds of changes. */
const changesOf = (payload: Fields): { field: unknown; value: Fields }[] =>
  listOf(payload.entry)
    .flatMap((entry) => listOf(fieldsOf(entry).changes))
    .map(fieldsOf)
    .map(({ field, value }) => ({ field, value: fieldsOf(value) }))

/** For the log. */
const nameOf = (type: unknown): string => line(textOf(type), 40)

/** @returns why it is ignored, if it is */
function readMessage(item: Fields, value: Fields, api: CloudApi): InboundMessage | string {
  const [id, type] = [textOf(item.id), textOf(item.type)]
  const from = readSender(item, listOf(value.contacts).map(fieldsOf))
  if (!id || !type) return 'it has no id or no type'
  if (!from) return 'its sender has neither a number nor a business-scoped id'
  if (silentTypes.has(kindOf(type, item))) return 'it is no message to the agent'
  const group = item.group_id === undefined ? undefined : textOf(item.group_id)
  if (item.group_id !== undefined && (group === undefined || !isCloudGroup(group))) return 'its group has no known id'
  const attachment = readAttachment(type, fieldsOf(item[type]), api)
  const text = contentOf(type, item) || (attachment ? '' : unreadableOf(type, item))
  if (!attachment && text.trim() === '') return 'it is empty'
  return {
    id,
    from,
    text,
    to: from.id,
    ...(group !== undefined && readGroup(group, { item, text, value })),
    ...(attachment && { attachments: [attachment] }),
    route: { messageId: id },
  }
}

/**
 * The number if there is one, which is what people know, and else the business-scoped id. Since 2026, a message has
 * this id, too, and somebody with a username may show no number.
 */
function readSender(item: Fields, contacts: readonly Fields[]): InboundMessage['from'] | undefined {
  const own = idsOf(item.from, item.from_user_id, item.from_parent_user_id)
  const known = contacts.map((contact) => ({
    ids: idsOf(contact.wa_id, contact.user_id, contact.parent_user_id),
    name: textOf(fieldsOf(contact.profile).name),
  }))
  // A message that names nobody is of the only contact.
  const contact =
    known.find(({ ids }) => ids.some((id) => own.includes(id))) ?? (own.length > 0 ? undefined : only(known))
  const ids = [...new Set([...own, ...(contact?.ids ?? [])])]
  const id = ids.find((one) => !isUserId(one)) ?? ids[0]
  if (id === undefined) return undefined
  const otherIds = ids.filter((other) => other !== id)
  return { id, ...(otherIds.length > 0 && { otherIds }), ...(contact?.name && { name: contact.name }) }
}

const only = <Item>(items: readonly Item[]): Item | undefined => (items.length === 1 ? items[0] : undefined)

const idsOf = (...values: readonly unknown[]): string[] =>
  values
    .flatMap((value) => textOf(value) ?? [])
    .flatMap((id) => (/^[0-9]{5,18}$/.test(id) ? `+${id}` : isUserId(id) ? id : []))

interface GroupMessage {
  item: Fields
  text: string
  value: Fields
}

/** The reply goes to the group. Meta does not mark mentions; a reply names whose message it answers. */
function readGroup(to: string, { item, text, value }: GroupMessage): Partial<InboundMessage> {
  const own = (textOf(fieldsOf(value.metadata).display_phone_number) ?? '').replaceAll(/\D/g, '')
  const isReply = own !== '' && (textOf(fieldsOf(item.context).from) ?? '').replace('+', '') === own
  const mention = new RegExp(`@${own}(?!\\d)`, 'g')
  const isMention = own !== '' && text.search(mention) !== -1
  return {
    to,
    group: 'group',
    ...(isMention && { text: text.replaceAll(mention, '').trim() }),
    ...((isReply || isMention) && { mentioned: true }),
  }
}

/** What people do with messages, and what Meta says of them. */
const silentTypes: ReadonlySet<string> = new Set([
  'edit',
  'pin',
  'poll_update',
  'reaction',
  'request_welcome',
  'revoke',
  'system',
])

/** What is inside a message of a type that the API does not pass on, or the kind of an answer. */
function kindOf(type: string, item: Fields): string {
  const kind = textOf(fieldsOf(item[type]).type)
  if (type === 'unsupported') return kind ?? type
  return type === 'interactive' && kind !== undefined ? `${type} ${kind}` : type
}

/** A text without a text is empty; of anything else, the agent is told that it came. */
const unreadableOf = (type: string, item: Fields): string =>
  type === 'text' || type === 'button' ? '' : unreadable(kindOf(type, item))

/** The text of a message, the caption of a file, or the label of the button that was pressed. */
function contentOf(type: string, item: Fields): string {
  const content = fieldsOf(item[type])
  if (type === 'text') return textOf(content.body) ?? ''
  if (type === 'button') return textOf(content.text) ?? ''
  if (type === 'interactive') return textOf(fieldsOf(content.button_reply ?? content.list_reply).title) ?? ''
  if (type === 'location') return describePlace(content)
  if (type === 'contacts') return describeCards(listOf(item.contacts).map(fieldsOf).map(readCard))
  return textOf(content.caption) ?? ''
}

const readCard = ({ name, phones }: Fields): Card => ({
  name: fieldsOf(name).formatted_name,
  phones: listOf(phones).map((phone) => fieldsOf(phone).phone),
})

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
