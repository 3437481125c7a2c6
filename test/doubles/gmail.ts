// A double of Google: access tokens, the Gmail API, Pub/Sub with pull and signed push, and the keys of its signatures.
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const account = 'ada@example.com'
export const refreshToken = 'refresh-token-of-the-tests'
export const pushEmail = 'gmail-push@p.iam.gserviceaccount.com'
export const topic = 'projects/p/topics/gmail'
export const subscription = 'projects/p/subscriptions/gmail'

interface StoredMail {
  id: string
  labelIds: readonly string[]
  internalDate: string
  [key: string]: unknown
}

export interface MailOptions {
  text?: string
  html?: string
  labels?: readonly string[]
  subject?: string
}

interface Reply {
  status?: number
  headers?: Record<string, string>
  body?: unknown
}

export interface GmailDouble {
  /** `http://127.0.0.1:<port>`. */
  url: string
  /** For `hooks.gmail.watch.urls`. */
  urls: { gmail: string; pubsub: string; token: string; authorize: string }
  keysUrl: string
  /** Every call so far, such as `POST /gmail/v1/users/me/watch`. */
  calls: readonly string[]
  /** Stores a mail in the mailbox, without a notification. Returns its id. */
  addMail(options?: MailOptions): string
  /** Publishes that the mailbox has changed, for pulls. */
  publish(): void
  /** The notifications that were neither acknowledged nor pulled. */
  readonly unacknowledged: number
  /** The body of a push, and the headers that Pub/Sub signs it with. `claims` replace those of the token. */
  push(
    audience: string,
    claims?: object,
    options?: { forged?: boolean },
  ): [body: object, headers: Record<string, string>]
  /** Answers the next calls whose path contains this text in another way. */
  failNext(path: string, reply: Reply, times?: number): void
  /** Takes back what `failNext` has ordered. */
  recover(): void
  /** How long a watch lasts. */
  watchMs: number
  /** Forgets the history, as Gmail does after a week. */
  expireHistory(): void
  /** Whether the refresh token is accepted. */
  isRevoked: boolean
  /** Whether the account may create topics and subscriptions. */
  mayAdminister: boolean
  close(): Promise<void>
}

export async function startGmail(): Promise<GmailDouble> {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const forgedKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const mails = new Map<string, StoredMail>()
  const history: { id: number; mail: string }[] = []
  const [calls, unexpected]: [string[], string[]] = [[], []]
  const failures: { path: string; reply: Reply }[] = []
  const notifications = new Map<string, object>()
  let [lastId, oldest, issued] = [1000, 1000, 0]

  const change = () => ({ emailAddress: account, historyId: lastId })
  const notification = () => ({
    data: Buffer.from(JSON.stringify(change())).toString('base64'),
    messageId: String(9000 + lastId),
    publishTime: new Date().toISOString(),
  })

  const double: GmailDouble = {
    url: '',
    urls: { gmail: '', pubsub: '', token: '', authorize: '' },
    keysUrl: '',
    calls,
    isRevoked: false,
    mayAdminister: true,
    get unacknowledged() {
      return notifications.size
    },
    addMail({ text = 'Are you hungry?', html, labels = ['INBOX', 'UNREAD'], subject = 'Lunch?' } = {}) {
      const id = `m${++lastId}`
      const part = (mimeType: string, data: string) => ({
        mimeType,
        body: { data: Buffer.from(data).toString('base64url') },
      })
      const headers = [
        { name: 'From', value: 'Bob <bob@example.com>' },
        { name: 'To', value: account },
        { name: 'Subject', value: subject },
      ]
      const payload = html
        ? { mimeType: 'multipart/alternative', headers, parts: [part('text/html', html)] }
        : { ...part('text/plain', text), headers }
      const internalDate = String(Date.now())
      mails.set(id, {
        id,
        threadId: `t${id}`,
        labelIds: labels,
        snippet: 'Are you &#39;hungry&#39;?',
        internalDate,
        payload,
      })
      history.push({ id: lastId, mail: id })
      return id
    },
    publish: () => void notifications.set(`ack-${lastId}-${notifications.size}`, notification()),
    push(audience, claims = {}, { forged = false } = {}) {
      const now = Math.floor(Date.now() / 1000)
      const payload = { iss: 'https://accounts.google.com', aud: audience, email: pushEmail, email_verified: true }
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const times = { iat: now, exp: now + 3600 }
      const signed = `${part({ alg: 'RS256', kid: 'g1' })}.${part({ ...payload, ...times, ...claims })}`
      const { privateKey } = forged ? forgedKeys : keys
      const token = `${signed}.${sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url')}`
      return [{ message: notification(), subscription }, { authorization: `Bearer ${token}` }]
    },
    failNext: (path, reply, times = 1) => void failures.push(...Array.from({ length: times }, () => ({ path, reply }))),
    recover: () => void failures.splice(0),
    watchMs: 7 * 86_400_000,
    expireHistory: () => void (oldest = lastId + 1),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      if (unexpected.length > 0) throw new Error(`the double got unknown requests: ${unexpected.join(', ')}`)
    },
  }

  /** The routes, by method and path. Each returns the body of its reply, or a whole reply. */
  const routes: Record<string, (request: { body: string; query: URLSearchParams; path: string }) => Reply> = {
    'POST /token': ({ body }) => {
      const form = new URLSearchParams(body)
      if (form.get('grant_type') === 'authorization_code') {
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url')
        if (form.get('code') !== `code-${challenge}`) return { status: 400, body: { error: 'invalid_grant' } }
        return { body: { access_token: `access-${++issued}`, expires_in: 3599, refresh_token: refreshToken } }
      }
      const isKnown = form.get('refresh_token') === refreshToken || form.get('grant_type')?.includes('jwt-bearer')
      if (double.isRevoked || !isKnown) return { status: 400, body: { error: 'invalid_grant' } }
      return { body: { access_token: `access-${++issued}`, expires_in: 3599, token_type: 'Bearer' } }
    },
    'GET /authorize': ({ query }) => {
      const back = new URL(query.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({
        state: query.get('state') ?? '',
        code: `code-${query.get('code_challenge')}`,
      }).toString()
      return { status: 302, headers: { location: back.href } }
    },
    [`PUT /v1/${topic}`]: () => (double.mayAdminister ? {} : { status: 403 }),
    [`GET /v1/${topic}:getIamPolicy`]: () => (double.mayAdminister ? { body: { etag: 'e1' } } : { status: 403 }),
    [`POST /v1/${topic}:setIamPolicy`]: () => ({}),
    [`PUT /v1/${subscription}-pull`]: () => ({ status: double.mayAdminister ? 409 : 403 }),
    [`PUT /v1/${subscription}-push`]: () => ({ status: double.mayAdminister ? 200 : 403 }),
    'GET /certs': () => ({ body: { keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'g1' }] } }),
    'GET /gmail/v1/users/me/profile': () => ({ body: { emailAddress: account, historyId: String(lastId) } }),
    'GET /gmail/v1/users/me/labels': () => ({
      body: {
        labels: ['INBOX', 'SENT', 'SPAM'].map((id) => ({ id, name: id })).concat({ id: 'Label_7', name: 'Bills' }),
      },
    }),
    'POST /gmail/v1/users/me/watch': ({ body }) =>
      JSON.parse(body).topicName === topic
        ? { body: { historyId: String(lastId), expiration: String(Date.now() + double.watchMs) } }
        : { status: 400, body: { error: { message: 'Invalid topicName' } } },
    'GET /gmail/v1/users/me/history': ({ query }) => {
      const start = Number(query.get('startHistoryId'))
      if (start < oldest) return { status: 404, body: { error: { message: 'Requested entity was not found.' } } }
      const newer = history.filter(({ id }) => id > start)
      // Two records a page, so that there are several pages.
      const from = Number(query.get('pageToken') ?? 0)
      const page = newer.slice(from, from + 2).map(({ id, mail }) => ({
        id: String(id),
        messagesAdded: [{ message: { id: mail, labelIds: mails.get(mail)?.labelIds } }],
      }))
      const more = from + 2 < newer.length && { nextPageToken: String(from + 2) }
      return { body: { history: page, historyId: String(lastId), ...more } }
    },
    'GET /gmail/v1/users/me/messages': ({ query }) => {
      const after = Number(/^after:(\d+)$/.exec(query.get('q') ?? '')?.[1]) * 1000
      const found = [...mails.values()].filter(
        ({ labelIds, internalDate }) => labelIds.includes(query.get('labelIds') ?? '') && Number(internalDate) >= after,
      )
      return { body: { messages: found.toReversed().map(({ id }) => ({ id })) } }
    },
    [`POST /v1/${subscription}:pull`]: () => ({
      body: { receivedMessages: [...notifications].map(([ackId, message]) => ({ ackId, message })) },
    }),
    [`POST /v1/${subscription}:acknowledge`]: ({ body }) => {
      for (const ackId of (JSON.parse(body) as { ackIds: string[] }).ackIds) notifications.delete(ackId)
      return {}
    },
  }

  function answer(method: string, url: URL, { body, token }: { body: string; token: string | undefined }): Reply {
    const path = url.pathname
    calls.push(`${method} ${path}`)
    const index = failures.findIndex((failure) => path.includes(failure.path))
    if (index !== -1) return failures.splice(index, 1)[0]!.reply
    const isOpen = path === '/token' || path === '/certs' || path === '/authorize'
    if (!isOpen && token !== `Bearer access-${issued}`) return { status: 401, body: { error: { message: 'Invalid' } } }
    const id = /^\/gmail\/v1\/users\/me\/messages\/(\w+)$/.exec(path)?.[1]
    if (id) return mails.has(id) ? { body: mails.get(id) } : { status: 404, body: { error: { message: 'Not Found' } } }
    const route = routes[`${method} ${path}`]
    if (route) return route({ body, query: url.searchParams, path })
    unexpected.push(`${method} ${path}`)
    return { status: 404 }
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await request.toArray()).join('')
    const {
      status = 200,
      headers = {},
      body: reply = {},
    } = answer(request.method ?? '', new URL(request.url ?? '', double.url), {
      body,
      token: request.headers.authorization,
    })
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(reply))
  }
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  double.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  double.urls = {
    gmail: double.url,
    pubsub: double.url,
    token: `${double.url}/token`,
    authorize: `${double.url}/authorize`,
  }
  double.keysUrl = `${double.url}/certs`
  return double
}
