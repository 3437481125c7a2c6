// A double of Google: the Gmail API with one mailbox, the tokens and Pub/Sub around it, and failures on demand.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMailbox, type MailOptions } from './mailbox.ts'
import { createPubSub, subscription, topic } from './pubsub.ts'
import { fault, type Reply, type Routes } from './routes.ts'
import { createTokens, type Forgery } from './tokens.ts'

export { account } from './mailbox.ts'
export { subscription, topic } from './pubsub.ts'
export { pushEmail, refreshToken } from './tokens.ts'

type Tokens = ReturnType<typeof createTokens>['tokens']
type PubSub = ReturnType<typeof createPubSub>['pubsub']

export interface GmailDouble {
  /** For `hooks.gmail.watch.urls`. */
  urls: { gmail: string; pubsub: string; token: string; authorize: string }
  keysUrl: string
  tokens: Tokens
  pubsub: PubSub
  /** Every call so far, such as `POST /gmail/v1/users/me/watch`. */
  calls: readonly string[]
  /** Stores a mail in the mailbox, without a notification. Returns its id. */
  addMail(options?: MailOptions): string
  /** The body of a push, and the headers that Pub/Sub signs it with. */
  push(audience: string, forgery?: Forgery): [body: object, headers: Record<string, string>]
  /** Answers the next calls whose path contains this text in another way. */
  failNext(path: string, reply: Reply, times?: number): void
  /** Takes back what `failNext` has ordered. */
  recover(): void
  /** Refuses connections until `listen`. */
  stopListening(): Promise<void>
  listen(): Promise<void>
  /** How long a watch lasts. */
  watchMs: number
  /** Forgets the history, as Gmail does after a week. */
  expireHistory(): void
  close(): Promise<void>
}

export async function startGmail(port = 0): Promise<GmailDouble> {
  const [calls, unexpected]: [string[], string[]] = [[], []]
  const failures: { path: string; reply: Reply }[] = []
  const mailbox = createMailbox()
  const { tokens, routes: tokenRoutes } = createTokens()
  const { pubsub, routes: pubsubRoutes } = createPubSub(mailbox.change)
  let base = ''

  const double: GmailDouble = {
    urls: { gmail: '', pubsub: '', token: '', authorize: '' },
    keysUrl: '',
    tokens,
    pubsub,
    calls,
    addMail: mailbox.add,
    push: (audience, forgery = {}) => [
      { message: pubsub.createNotification(), subscription },
      { authorization: `Bearer ${tokens.sign(audience, forgery)}` },
    ],
    failNext: (path, reply, times = 1) => void failures.push(...Array.from({ length: times }, () => ({ path, reply }))),
    recover: () => void failures.splice(0),
    async stopListening() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
    async listen() {
      server.listen(Number(new URL(base || `http://x:${port}`).port), '127.0.0.1')
      await once(server, 'listening')
      base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    watchMs: 7 * 86_400_000,
    expireHistory: mailbox.expireHistory,
    async close() {
      if (server.listening) await double.stopListening()
      if (unexpected.length > 0) throw new Error(`the double got unknown requests: ${unexpected.join(', ')}`)
    },
  }

  const routes: Routes = {
    ...tokenRoutes,
    ...pubsubRoutes,
    ...mailbox.routes,
    'POST /gmail/v1/users/me/watch': ({ body }) => {
      const { topicName } = JSON.parse(body) as { topicName: string }
      if (topicName !== topic) return fault(400, 'Invalid topicName')
      return pubsub.isOpenToGmail(topic)
        ? { body: { historyId: mailbox.lastId(), expiration: String(Date.now() + double.watchMs) } }
        : fault(403, `Error sending test message to Cloud PubSub ${topic} : User not authorized.`)
    },
  }

  function answer(method: string, url: URL, { body, token }: { body: string; token: string | undefined }): Reply {
    const path = url.pathname
    calls.push(`${method} ${path}`)
    const index = failures.findIndex((failure) => path.includes(failure.path))
    if (index !== -1) return failures.splice(index, 1)[0]!.reply
    const isOpen = path === '/token' || path === '/certs' || path === '/authorize'
    if (!isOpen && !tokens.isValid(token)) return fault(401, 'Request had invalid authentication credentials.')
    if (!isOpen && !tokens.hasScope(path))
      return fault(403, 'Insufficient Permission', { errors: [{ reason: 'insufficientPermissions' }] })
    const route = routes[`${method} ${path}`] ?? mailbox.routeTo(path)
    if (route) return route({ body, query: url.searchParams })
    unexpected.push(`${method} ${path}`)
    return { status: 404 }
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = (await request.toArray()).join('')
    const reply = answer(request.method ?? '', new URL(request.url ?? '', base), {
      body: text,
      token: request.headers.authorization,
    })
    const { status = 200, headers = {}, body = {}, isLost = false, isHeld = false } = reply
    if (isHeld) return
    if (isLost) return void request.socket.destroy()
    const isText = typeof body === 'string'
    response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers })
    response.end(isText ? body : JSON.stringify(body))
  }
  const server = createServer((request, response) => void serve(request, response))
  await double.listen()
  double.urls = { gmail: base, pubsub: base, token: `${base}/token`, authorize: `${base}/authorize` }
  double.keysUrl = `${base}/certs`
  return double
}
