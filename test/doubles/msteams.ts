// A double of Microsoft's login service and of the Bot Framework, which signs what it sends to a bot.
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import type { TeamsConfig } from '../../channels/msteams/config.ts'
import { createRedirects, type FileContent, sendContent } from './file-content.ts'
import type { PlatformRequest, PlatformResponse } from '../../core/plugin/plugin.ts'

export const appId = '11111111-1111-4111-8111-111111111111'
export const appPassword = 'canary-app-password'
export const tenantId = '22222222-2222-4222-8222-222222222222'
/** The object ID of a person. */
export const alice = '44444444-4444-4444-8444-444444444444'
const botId = `28:${appId}`

export interface PostedActivity {
  id: string
  conversation: string
  type: string
  text?: string
  textFormat?: string
  attachments?: { contentType: string; content: { type: string; version: string; actions: Action[] } }[]
}

interface Action {
  type: string
  title: string
  data: object
}

/** The buttons of a card. */
export const actionsOf = ({ attachments = [] }: PostedActivity): Action[] =>
  attachments.flatMap(({ content }) => content.actions)

type Fault =
  | { status: number; headers?: Record<string, string>; body?: object }
  | { statusAfter: number }
  | 'drop-before'
  | 'drop-after'

export interface TeamsDouble {
  config: TeamsConfig
  url: string
  /** The activities that the service accepted. */
  posted: PostedActivity[]
  /** How often the keys were fetched. */
  keyFetches(): number
  /** The tokens that the login service issued. */
  tokens: string[]
  /** Resolves when the condition holds, which is checked after each accepted activity. */
  until(fits: () => boolean): Promise<void>
  /** The contents of files, by name. Every other file has a text. */
  files: Map<string, FileContent>
  redirectNextDownload(address?: string): void
  /** What becomes of the next posts, one after the other. */
  fail(...faults: Fault[]): void
  activity(changes?: object): Record<string, unknown>
  /** The activity when somebody presses the button of the card that was posted last. */
  press(label: string, changes?: object): Record<string, unknown>
  /** A token as the Bot Framework issues it, or a forged one. */
  token(claims?: object, options?: { key?: KeyObject; kid?: string }): string
  close(): Promise<void>
}

/** Generated once for all doubles of a process, because this is slow. */
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

const jwk = publicKey.export({ format: 'jwk' })

/** One key under three ids, with the channels for which each may be used, as the Bot Framework limits its keys. */
const keys = [
  { ...jwk, kid: 'k1', use: 'sig', endorsements: ['msteams', 'webchat'] },
  { ...jwk, kid: 'for-web-chat', use: 'sig', endorsements: ['webchat'] },
  { ...jwk, kid: 'unlimited', use: 'sig' },
]

/** Returns a key that the double does not know. */
export const strangeKey = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

export async function openTeams(): Promise<TeamsDouble> {
  const [posted, tokens, faults, unexpected]: [PostedActivity[], string[], Fault[], string[]] = [[], [], [], []]
  /** The activities that were posted with buttons. */
  const asked: PostedActivity[] = []
  const changes = new EventTarget()
  const files: TeamsDouble['files'] = new Map()
  const redirects = createRedirects()
  const server = createServer((request, response) => void serve(request, response))

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readText(request)
    const { pathname } = new URL(request.url ?? '', url)
    const reply = (status: number, value: object, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
    if (pathname === '/keys') {
      keyFetches++
      return void reply(200, { keys })
    }
    if (pathname === '/token') return issueToken(new URLSearchParams(body), reply)
    // Storage redirects to the host that has the bytes (microsoft/teams.ts, packages/apps/src/files/download.ts).
    if (/^\/files\/|views\/original$/.test(pathname) && redirects.answer(request.url, response)) return
    if (pathname.startsWith('/files/'))
      return sendContent(response, files.get(pathname.slice(7)) ?? `the content of ${pathname.slice(7)}`)
    // The attachments API of the Bot Framework (learn.microsoft.com/azure/bot-service/rest-api: "Attachment operations").
    const [, picture] = /^\/teams\/v3\/attachments\/([^/]+)(?:\/views\/original)?$/.exec(pathname) ?? []
    if (picture !== undefined && isOwnToken(request) && pathname.endsWith('/views/original'))
      return void response.end('a picture')
    if (picture !== undefined && isOwnToken(request))
      return picture === 'unknown'
        ? void reply(404, {})
        : void reply(200, { name: 'original', type: 'image/jpeg', views: [] })
    const [, conversation] = /^\/teams\/v3\/conversations\/([^/]+)\/activities$/.exec(pathname) ?? []
    if (request.method === 'POST' && conversation !== undefined)
      return post({ request, response, reply }, conversation, body)
    const [, id] = /^\/teams\/v3\/conversations\/[^/]+\/activities\/([^/]+)$/.exec(pathname) ?? []
    if (request.method === 'DELETE' && id !== undefined && isOwnToken(request)) return remove(id, reply)
    unexpected.push(`${request.method} ${pathname}`)
    reply(404, {})
  }

  type Reply = (status: number, value: object, headers?: object) => unknown

  function issueToken(form: URLSearchParams, reply: Reply): void {
    const isRight = form.get('client_id') === appId && form.get('client_secret') === appPassword
    if (!isRight || form.get('scope') !== 'https://api.botframework.com/.default')
      return void reply(401, { error: 'invalid_client' })
    tokens.push(randomUUID())
    reply(200, { token_type: 'Bearer', expires_in: 3600, access_token: tokens.at(-1) })
  }

  const isOwnToken = ({ headers }: IncomingMessage): boolean =>
    tokens.includes((headers.authorization ?? '').replace('Bearer ', ''))

  function post(
    { request, response, reply }: { request: IncomingMessage; response: ServerResponse; reply: Reply },
    conversation: string,
    body: string,
  ): void {
    const fault = faults.shift()
    if (!isOwnToken(request)) return void reply(401, {})
    if (fault === 'drop-before') return void response.destroy()
    if (typeof fault === 'object' && 'status' in fault) return void reply(fault.status, fault.body ?? {}, fault.headers)
    const id = `activity-${++postCount}`
    const activity: PostedActivity = {
      conversation: decodeURIComponent(conversation),
      ...(JSON.parse(body) as { type: string }),
      id,
    }
    posted.push(activity)
    if (actionsOf(activity).length > 0) asked.push(activity)
    changes.dispatchEvent(new Event('change'))
    if (fault === 'drop-after') return void response.destroy()
    if (fault) return void reply(fault.statusAfter, {})
    // Teams makes two messages of a text and a card, and names neither.
    const isDivided = activity.text !== undefined && actionsOf(activity).length > 0
    reply(201, isDivided ? {} : { id })
  }

  function remove(id: string, reply: Reply): void {
    const index = posted.findIndex((activity) => activity.id === id)
    if (index >= 0) posted.splice(index, 1)
    changes.dispatchEvent(new Event('change'))
    reply(index >= 0 ? 200 : 404, {})
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const serviceUrl = `${url}/teams`
  let [count, keyFetches, postCount] = [0, 0, 0]
  const createActivity = (changes: object = {}): Record<string, unknown> => ({
    type: 'message',
    id: `${++count}`,
    serviceUrl,
    channelId: 'msteams',
    from: { id: '29:alice', name: 'Alice', aadObjectId: alice },
    recipient: { id: botId, name: 'Bot' },
    conversation: { id: 'a:conversation', conversationType: 'personal', tenantId },
    channelData: { tenant: { id: tenantId } },
    text: 'hello',
    ...changes,
  })
  return {
    config: {
      appId,
      appPassword,
      tenantId,
      openIdMetadataUrl: `${url}/openidconfiguration`,
      tokenUrl: `${url}/token`,
      serviceUrl,
    },
    url,
    posted,
    tokens,
    files,
    redirectNextDownload: redirects.redirectNextDownload,
    keyFetches: () => keyFetches,
    until: async (fits) => {
      while (!fits()) await once(changes, 'change')
    },
    fail: (...more) => void faults.push(...more),
    press(label, changes = {}) {
      const card = asked.findLast((activity) => actionsOf(activity).some(({ title }) => title === label))
      const action = card && actionsOf(card).find(({ title }) => title === label)
      if (!card || !action) throw new Error(`There is no button that says "${label}".`)
      const { text: _, ...activity } = createActivity()
      const conversationType = typeOf(card.conversation)
      const conversation = { id: card.conversation, conversationType, tenantId }
      return { ...activity, conversation, replyToId: card.id, value: action.data, ...changes }
    },
    activity: createActivity,
    token: (claims = {}, { key = privateKey, kid = 'k1' } = {}) => {
      const seconds = Math.floor(Date.now() / 1000)
      const standard = { iss: 'https://api.botframework.com', aud: appId, iat: seconds, exp: seconds + 3600 }
      return signJwt({ ...standard, serviceurl: serviceUrl, ...claims }, { key, kid })
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      if (unexpected.length > 0) throw new Error(`the double does not know these requests: ${unexpected.join(', ')}`)
    },
  }
}

/** Channels are in `tacv2`, group chats in `v2`. */
function typeOf(conversation: string): string {
  if (!conversation.startsWith('19:')) return 'personal'
  return conversation.includes('@thread.tacv2') ? 'channel' : 'groupChat'
}

function signJwt(claims: object, { key, kid }: { key: KeyObject; kid: string }): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'RS256', typ: 'JWT', kid })}.${part(claims)}`
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`
}

/** Answers a request, as `handle` of a connection does. */
export type Post = (request: PlatformRequest) => Promise<PlatformResponse>

/** Sends an activity to the bot as the Bot Framework does. */
export async function deliver(post: Post | undefined, activity: object, token?: string): Promise<PlatformResponse> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const body = Buffer.from(JSON.stringify(activity))
  const response = await post?.({ method: 'POST', headers, query: {}, body, signal: new AbortController().signal })
  if (!response) throw new Error('the connection handles no requests')
  return response
}

interface QuotedActivity {
  id: string
  author: { mri: string; botFrameworkId: string; name: string }
  preview: string
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export const html = (content: string) => ({ contentType: 'text/html', content })

/**
 * What an activity has when somebody answers a message in a chat. HTML:
 * https://learn.microsoft.com/graph/api/chats-getallmessages (its example). The entity and the mark in the text:
 * https://learn.microsoft.com/dotnet/api/microsoft.teams.apps.schema.entities.quotedreplydata and
 * microsoft/teams.ts#482. Bots get both, as openclaw/openclaw#101856 has met it.
 */
export function replyTo({ id, author, preview }: QuotedActivity, text: string) {
  const { mri, botFrameworkId, name } = author
  const reply =
    `<blockquote itemscope="" itemtype="http://schema.skype.com/Reply" itemid="${id}">\n` +
    `<strong itemprop="mri" itemid="${mri}">${escapeHtml(name)}</strong><span itemprop="time" itemid="${id}"></span>\n` +
    `<p itemprop="preview">${escapeHtml(preview)}</p>\n</blockquote>\n<p>${text}</p>`
  const quotedReply = { messageId: id, senderId: botFrameworkId, senderName: name, preview }
  return {
    text: `<quoted messageId="${id}"/>${text}`,
    attachments: [html(reply)],
    entities: [{ type: 'quotedReply', quotedReply }] as object[],
  }
}

/** Teams names neither the author nor the message of a forward. The text of the activity repeats the block. */
export const forwardOf = (content: string): string =>
  `<blockquote itemtype="http://schema.skype.com/Forward">\n<p>${content}</p>\n</blockquote>`
