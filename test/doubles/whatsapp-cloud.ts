// A double of WhatsApp's Cloud API: messages, files, signed webhook requests that are repeated, and faults.
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Json, PlatformRequest, PlatformResponse } from '../../core/plugin/plugin.ts'
import { type FileContent, sendContent } from './file-content.ts'
import { linksIn } from './fetches.ts'

export interface CloudMessage {
  to: string
  type: string
  text: string
  /** What WhatsApp fetches for a preview. */
  fetches: string[]
  file?: { name: string; type: string; text: string; content: Uint8Array }
}

/** What happens to the next request that sends a message. */
type Fault = 'lose-answer' | { statusAfter: number } | { status: number; code?: number; retryAfter?: number }

type Post = (request: PlatformRequest) => Promise<PlatformResponse>

const accessToken = 'cloud-access-token-0123456789'
const appSecret = 'cloud-app-secret-0123456789'
const verifyToken = 'cloud-verify-token-0123456789'
const phoneNumberId = '106540352242922'
const api = `/v23.0/${phoneNumberId}`

export type WhatsappCloud = Awaited<ReturnType<typeof openWhatsappCloud>>

export async function openWhatsappCloud() {
  const messages: CloudMessage[] = []
  const files = new Map<string, { name: string; type: string; data: FileContent }>()
  const typing: string[] = []
  const surprises: string[] = []
  const faults: Fault[] = []
  const changes = new EventTarget()
  const keys: (string | undefined)[] = []
  let post: Post | undefined
  let count = 0
  let name = 'Alice'

  const refuse = (response: ServerResponse, status: number, code?: number) =>
    response.writeHead(status).end(JSON.stringify({ error: { code, message: `refused with ${accessToken}` } }))

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const body = await buffer(request)
    const { pathname } = new URL(request.url ?? '/', base)
    const reply = (value: Json) => response.end(JSON.stringify(value))
    if (request.headers.authorization !== `Bearer ${accessToken}`) return refuse(response, 401, 190)
    if (request.method === 'GET' && pathname === api) return reply({ id: phoneNumberId })
    if (request.method === 'POST' && pathname === `${api}/media`) return reply({ id: await keepFile(request, body) })
    if (request.method === 'POST' && pathname === `${api}/messages`) return onMessage(body, request, response)
    const file = files.get(pathname.split('/').at(-1)!)
    if (file && pathname.startsWith('/download/')) return sendContent(response, file.data)
    if (file) return reply({ url: `${base}/download/${pathname.split('/').at(-1)}`, mime_type: file.type })
    surprises.push(`${request.method} ${pathname}`)
    return refuse(response, 404)
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
    const fault = faults.shift()
    if (typeof fault === 'object' && 'status' in fault) {
      if (fault.retryAfter !== undefined) response.setHeader('retry-after', String(fault.retryAfter))
      return refuse(response, fault.status, fault.code)
    }
    const content = message[message.type!] as { body?: string; caption?: string; id?: string; preview_url?: boolean }
    const file = files.get(content.id ?? '')
    keys.push(message.biz_opaque_callback_data)
    messages.push({
      to: `+${message.to}`,
      type: message.type!,
      text: content.body ?? content.caption ?? '',
      fetches: content.preview_url ? linksIn(content.body ?? '') : [],
      ...(file && {
        file: { name: file.name, type: file.type, text: String(file.data), content: file.data as Buffer },
      }),
    })
    changes.dispatchEvent(new Event('change'))
    if (fault === 'lose-answer') return request.socket.destroy()
    if (fault) return refuse(response, fault.statusAfter, 1)
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
      const { status } = await post!(requestOf(payload)).catch(() => ({ status: 500 }))
      if (status === 200) return
    }
  }

  const payloadOf = (value: Record<string, Json>, number = phoneNumberId): Json => ({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field: 'messages', value: { metadata: { phone_number_id: number }, ...value } }] }],
  })

  return {
    config: { apiRoot: base, accessToken, phoneNumberId, verifyToken, appSecret },
    messages,
    typing,
    surprises,
    /** Resolves when the condition holds, which is checked after each accepted message. */
    until: async (fits: () => boolean) => {
      while (!fits()) await once(changes, 'change')
    },
    putFile,
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
    say: (content: Record<string, Json> | string, id = `wamid.${++count}.${randomUUID()}`): Promise<void> => {
      const fields = typeof content === 'string' ? { type: 'text', text: { body: content } } : content
      const contacts = [{ wa_id: '15551112222', profile: { name } }]
      return push(payloadOf({ contacts, messages: [{ id, from: '15551112222', timestamp: '1', ...fields }] }))
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      if (surprises.length > 0) throw new Error(`the double of the Cloud API did not expect: ${surprises.join('; ')}`)
    },
  }
}

interface Sent {
  messaging_product?: string
  to?: string
  type?: string
  status?: string
  message_id?: string
  biz_opaque_callback_data?: string
  [content: string]: unknown
}
