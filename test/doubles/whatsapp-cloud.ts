// A double of WhatsApp's Cloud API: messages, files, signed webhook requests that are repeated, and faults.
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Json, PlatformRequest, PlatformResponse } from '../../core/plugin/plugin.ts'
import { createRedirects, type FileContent, sendContent } from './file-content.ts'
import { linksIn } from './fetches.ts'

export interface CloudMessage {
  /** A number with `+`, a business-scoped user id, or the id of a group. */
  to: string
  type: string
  text: string
  /** What WhatsApp fetches for a preview. */
  fetches: string[]
  file?: { name: string; type: string; text: string; content: Uint8Array }
}

/** What happens to the next request that sends a message. */
type Fault = 'accept' | 'lose-answer' | { statusAfter: number } | { status: number; code?: number; retryAfter?: number }

type Post = (request: PlatformRequest) => Promise<PlatformResponse>

const accessToken = 'cloud-access-token-0123456789'
const appSecret = 'cloud-app-secret-0123456789'
const verifyToken = 'cloud-verify-token-0123456789'
const phoneNumberId = '106540352242922'
const accountId = '102290129340398'
const appId = '634974688087057'
const displayNumber = '15550783881'
const pin = '123456'
const api = `/v23.0/${phoneNumberId}`

/** Who writes. Since April 2026, messages have this id beside the number; since June 2026, the number may be missing. */
export const userId = 'US.13491208655302741918'
/** As in Meta's "Group messages webhook reference". */
export const cloudGroup = 'Y2FwaV9ncm91cDoxNzA1NTU1MDEzOToxMjAzNjM0MDQ2OTQyMzM4MjAZD'

/**
 * What Meta's "Media" reference lists, per kind of message; a file of another type is refused at the upload: "(#100)
 * Param file must be a file with one of the following types" (fbsamples/whatsapp-api-examples#10), and a message of
 * another kind with 131053, "Unsupported Image mime type" (chatwoot#10428, chatwoot#12713).
 */
const mediaTypes: Record<string, { types: RegExp; maxBytes: number }> = {
  audio: { types: /^audio\/(aac|amr|mpeg|mp4|ogg)$/, maxBytes: 16 << 20 },
  document: {
    types:
      /^(text\/plain|application\/(pdf|msword|vnd\.ms-(excel|powerpoint)|vnd\.openxmlformats-officedocument\.(wordprocessingml\.document|spreadsheetml\.sheet|presentationml\.presentation)))$/,
    maxBytes: 100 << 20,
  },
  image: { types: /^image\/(jpeg|png)$/, maxBytes: 5 << 20 },
  sticker: { types: /^image\/webp$/, maxBytes: 500 << 10 },
  video: { types: /^video\/(mp4|3gpp)$/, maxBytes: 16 << 20 },
}

/** Who says something, and where. */
interface CloudSender {
  /** `null`: the person has a username, and the number is left out. */
  number?: string | null
  group?: string
}

export type WhatsappCloud = Awaited<ReturnType<typeof openWhatsappCloud>>

export async function openWhatsappCloud() {
  const messages: CloudMessage[] = []
  const redirects = createRedirects()
  const files = new Map<string, { name: string; type: string; data: FileContent }>()
  const typing: string[] = []
  const surprises: string[] = []
  const faults: Fault[] = []
  const changes = new EventTarget()
  const keys: (string | undefined)[] = []
  let post: Post | undefined
  let count = 0
  let name = 'Alice'
  let isRegistered = true
  let isSubscribed = true
  /** The token lacks `whatsapp_business_management`. */
  let hidesSetup = false
  /** The headers of the answers while the account has called too often. Meta: "Graph API, rate limits". */
  let limit: Record<string, string> | undefined
  const pins: string[] = []

  const refuse = (response: ServerResponse, status: number, code?: number) =>
    response.writeHead(status).end(JSON.stringify({ error: { code, message: `refused with ${accessToken}` } }))

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const body = await buffer(request)
    const { pathname, searchParams } = new URL(request.url ?? '/', base)
    const reply = (value: Json) => response.end(JSON.stringify(value))
    if (request.headers.authorization !== `Bearer ${accessToken}`) return refuse(response, 401, 190)
    if (limit) return refuse(response.setHeaders(new Map(Object.entries(limit))), 400, 80_007)
    if (request.method === 'GET' && pathname === api) {
      if (!searchParams.has('fields')) return reply({ id: phoneNumberId })
      return hidesSetup ? refuse(response, 403, 200) : reply(describeNumber())
    }
    if (request.method === 'POST' && pathname === `${api}/register`) return register(body, response)
    if (pathname === `/v23.0/${accountId}/subscribed_apps`) {
      if (request.method === 'POST') isSubscribed = true
      return reply(request.method === 'POST' ? { success: true } : { data: describeApps() })
    }
    if (request.method === 'POST' && pathname === `${api}/media`) return onUpload(request, body, response)
    if (request.method === 'POST' && pathname === `${api}/messages`) return onMessage(body, request, response)
    const file = files.get(pathname.split('/').at(-1)!)
    if (file && pathname.startsWith('/download/') && redirects.answer(request.url, response)) return undefined
    if (file && pathname.startsWith('/download/')) return sendContent(response, file.data)
    if (file) return reply({ url: `${base}/download/${pathname.split('/').at(-1)}`, mime_type: file.type })
    surprises.push(`${request.method} ${pathname}`)
    return refuse(response, 404)
  }

  /** Meta: "WhatsApp Business Phone Number" (`platform_type`, `status`) and "Health status" (the ids of the others). */
  const describeNumber = (): Json => ({
    id: phoneNumberId,
    status: isRegistered ? 'CONNECTED' : 'PENDING',
    platform_type: isRegistered ? 'CLOUD_API' : 'NOT_APPLICABLE',
    health_status: {
      can_send_message: isRegistered ? 'AVAILABLE' : 'BLOCKED',
      entities: [
        { entity_type: 'PHONE_NUMBER', id: phoneNumberId },
        { entity_type: 'WABA', id: accountId },
        { entity_type: 'BUSINESS', id: '506914307656634' },
        { entity_type: 'APP', id: appId },
      ],
    },
  })

  /** Meta: "WhatsApp Business Account, subscribed apps". Another app may be subscribed, too. */
  const describeApps = (): Json[] =>
    ['1', ...(isSubscribed ? [appId] : [])].map((id) => ({ whatsapp_business_api_data: { id, name: 'app' } }))

  /** Meta: "Register a business phone number"; 133005 is a wrong PIN. */
  function register(body: Buffer, response: ServerResponse): unknown {
    const given = JSON.parse(body.toString()) as { messaging_product?: string; pin?: string }
    if (given.messaging_product !== 'whatsapp' || !/^\d{6}$/.test(given.pin ?? '')) return refuse(response, 400, 100)
    pins.push(given.pin!)
    if (given.pin !== pin) return refuse(response, 400, 133_005)
    isRegistered = true
    return response.end('{"success":true}')
  }

  async function onUpload(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<unknown> {
    const id = await keepFile(request, body)
    const { type, data } = files.get(id)!
    const known = Object.values(mediaTypes).find(({ types }) => types.test(type))
    if (!known || (data as Buffer).length > known.maxBytes) return refuse(response, 400, 100)
    return response.end(JSON.stringify({ id }))
  }

  async function keepFile(request: IncomingMessage, body: Buffer): Promise<string> {
    const form = await new Response(new Uint8Array(body), {
      headers: { 'content-type': request.headers['content-type'] ?? '' },
    }).formData()
    const file = form.get('file') as File
    if (form.get('messaging_product') !== 'whatsapp') surprises.push('a file without messaging_product')
    return putFile({ name: file.name, type: file.type, data: Buffer.from(await file.arrayBuffer()) })
  }

  function putFile(file: { name: string; type: string; data: FileContent }): string {
    const id = String(1000 + files.size)
    files.set(id, file)
    return id
  }

  function onMessage(body: Buffer, request: IncomingMessage, response: ServerResponse): unknown {
    const message = JSON.parse(body.toString()) as Sent
    if (message.messaging_product !== 'whatsapp') return refuse(response, 400, 100)
    if (message.status === 'read') {
      typing.push(message.message_id!)
      return response.end('{"success":true}')
    }
    if (!isRegistered) return refuse(response, 400, 133_010)
    const fault = faults.shift()
    if (typeof fault === 'object' && 'status' in fault) {
      if (fault.retryAfter !== undefined) response.setHeader('retry-after', String(fault.retryAfter))
      return refuse(response, fault.status, fault.code)
    }
    const content = message[message.type!] as { body?: string; caption?: string; id?: string; preview_url?: boolean }
    const file = files.get(content.id ?? '')
    if (file && !mediaTypes[message.type!]?.types.test(file.type)) return refuse(response, 400, 131_053)
    const to = recipientOf(message)
    // Meta takes an id in the wrong field for a number, answers 200 and sends nothing (chatwoot#15150).
    if (to === undefined) return response.end('{"messages":[{"id":"wamid.to-nobody"}]}')
    keys.push(message.biz_opaque_callback_data)
    messages.push({
      to,
      type: message.type!,
      text: content.body ?? content.caption ?? '',
      fetches: content.preview_url ? linksIn(content.body ?? '') : [],
      ...(file && {
        file: { name: file.name, type: file.type, text: String(file.data), content: file.data as Buffer },
      }),
    })
    changes.dispatchEvent(new Event('change'))
    if (fault === 'lose-answer') return request.socket.destroy()
    if (typeof fault === 'object') return refuse(response, fault.statusAfter, 1)
    return response.end(JSON.stringify({ messages: [{ id: `wamid.sent.${messages.length}` }] }))
  }

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const sign = (body: Uint8Array, secret = appSecret) =>
    `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

  const requestOf = (payload: Json, signature?: string): PlatformRequest => {
    const body = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload))
    const headers = { 'x-hub-signature-256': signature ?? sign(body) }
    return { method: 'POST', headers, query: {}, body, signal: new AbortController().signal }
  }

  /** Meta repeats a request until it is answered with 200. */
  async function push(payload: Json): Promise<void> {
    for (;;) {
      // Meta calls only apps that are subscribed to the account.
      if (!isSubscribed) return
      const { status } = await post!(requestOf(payload)).catch(() => ({ status: 500 }))
      if (status === 200) return
    }
  }

  const payloadOf = (value: Record<string, Json>, number = phoneNumberId): Json => ({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field: 'messages', value: { metadata: metadataOf(number), ...value } }] }],
  })
  const metadataOf = (number: string): Json => ({ display_phone_number: displayNumber, phone_number_id: number })

  return {
    config: { apiRoot: base, accessToken, phoneNumberId, verifyToken, appSecret },
    messages,
    typing,
    surprises,
    displayNumber,
    /** The PIN of the number, and those with which somebody has tried to register it. */
    pin,
    pins,
    /** The number is as it was added: nobody has registered it or subscribed the app. */
    reset: ({ registered, subscribed }: { registered: boolean; subscribed: boolean }) => {
      isRegistered = registered
      isSubscribed = subscribed
    },
    limit: (headers: Record<string, string>) => void (limit = headers),
    hideSetup: () => void (hidesSetup = true),
    isSetUp: () => isRegistered && isSubscribed,
    /** Resolves when the condition holds, which is checked after each accepted message. */
    until: async (fits: () => boolean) => {
      while (!fits()) await once(changes, 'change')
    },
    putFile,
    redirectNextDownload: redirects.redirectNextDownload,
    sign,
    requestOf,
    payloadOf,
    push,
    /** Reports what became of a message (from 0). The data that came with the message goes back. */
    reportStatus: (index: number, status: Record<string, Json>): Promise<void> => {
      const key = keys[index]
      const item = {
        id: `wamid.sent.${index + 1}`,
        ...(key !== undefined && { biz_opaque_callback_data: key }),
        ...status,
      }
      return push(payloadOf({ statuses: [item] }))
    },
    connect: (next: Post) => void (post = next),
    fail: (fault: Fault) => void faults.push(fault),
    /** Whoever writes takes another display name. */
    rename: (other: string) => void (name = other),
    /** Somebody writes. */
    say: (
      content: Record<string, Json> | string,
      id = `wamid.${++count}.${randomUUID()}`,
      { number = '15551112222', group }: CloudSender = {},
    ): Promise<void> => {
      const fields = typeof content === 'string' ? { type: 'text', text: { body: content } } : content
      // Meta: "Business-scoped user IDs", of incoming messages.
      const contact = { ...(number !== null && { wa_id: number }), user_id: userId, profile: { name } }
      const sender = { ...(number !== null && { from: number }), from_user_id: userId }
      const message = { id, ...sender, ...(group !== undefined && { group_id: group }), timestamp: '1', ...fields }
      return push(payloadOf({ contacts: [contact], messages: [message] }))
    },
    /**
     * Somebody answers a message of the account, or passes one on. The context of a message:
     * https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/text/
     */
    contextOf: (of: { messageIndex: number } | 'forward' | 'frequent forward'): Json => {
      if (typeof of === 'object') return { from: displayNumber, id: `wamid.sent.${of.messageIndex + 1}` }
      return of === 'forward' ? { forwarded: true } : { frequently_forwarded: true }
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      if (surprises.length > 0) throw new Error(`the double of the Cloud API did not expect: ${surprises.join('; ')}`)
    },
  }
}

/** A number and a group are in `to`, a business-scoped id in `recipient`; `to` takes precedence. */
function recipientOf({ recipient_type: kind, to, recipient }: Sent): string | undefined {
  if (kind === 'group') return to
  if (to !== undefined) return /^\d+$/.test(to) ? `+${to}` : undefined
  return /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]+$/.test(recipient ?? '') ? recipient : undefined
}

interface Sent {
  messaging_product?: string
  recipient_type?: 'individual' | 'group'
  to?: string
  recipient?: string
  type?: string
  status?: string
  message_id?: string
  biz_opaque_callback_data?: string
  [content: string]: unknown
}
