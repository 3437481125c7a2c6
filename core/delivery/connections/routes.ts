// GET and POST /channels/<name>[/<account>]: requests of messaging platforms, which the channel verifies itself.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withDeadline } from '../../deadline.ts'
import { describeThrown, GatewayError } from '../../errors.ts'
import { recordFailure } from '../../http/auth.ts'
import { readBody } from '../../http/body.ts'
import { failures } from '../../http/failure.ts'
import { type RouteInfo, setRouteGroup } from '../../http/route-list.ts'
import type { Throttle } from '../../http/throttle.ts'
import type { Connection, Log, PlatformRequest, PlatformResponse } from '../../plugin/plugin.ts'
import type { Connections } from './connections.ts'
import type { Link, LinkState } from './link.ts'

interface ChannelRoutesDeps {
  connections: Pick<Connections, 'find'>
  /** Counts refused requests by address. Outlives this configuration, so that a reload lifts no lockout. */
  throttle: Throttle
  log: Log
}

interface Params {
  name: string
  account?: string
}

type Handle = NonNullable<Connection['handle']>

const maxBodyBytes = 1024 * 1024
/** Platforms wait less than this. */
const handleMs = 30_000
/** States of an account that may take requests soon. */
const awaited: ReadonlySet<string> = new Set<LinkState>(['connecting', 'failing', 'standby'])
/** How long a message of a request may wait for the store. Some platforms wait for an answer only ten seconds. */
const storeMs = 5_000
const retryAfterSeconds = 5

export function registerChannels(app: FastifyInstance, deps: ChannelRoutesDeps): void {
  void app.register(async (scope) => {
    setRouteGroup(scope, 'channels')
    scope.addHook('onRequest', (request, _reply, done) => {
      findHandle(request, deps)
      done()
    })
    scope.addHook('preValidation', readBody({ maxBytes: maxBodyBytes }))
    for (const url of ['/channels/:name', '/channels/:name/:account'])
      scope.route({
        method: ['GET', 'POST'],
        url,
        schema: { hide: true },
        handler: (request, reply) => answer(request, reply, deps),
      })
  })
}

/** The routes of the channels that take requests at the moment, for the OpenAPI document. */
export function listChannelRoutes({ states, get }: Pick<Connections, 'states' | 'get'>): RouteInfo[] {
  const links = states().flatMap(({ channel, accountId }) => get(channel, accountId) ?? [])
  return links
    .filter(({ connection }) => connection?.handle)
    .flatMap((link) => ['GET', 'POST'].map((method) => routeInfoOf(link, method)))
}

function routeInfoOf({ channel: { name }, accountId }: Link, method: string): RouteInfo {
  const path = accountId === 'default' ? `/channels/${name}` : `/channels/${name}/${encodeURIComponent(accountId)}`
  const summary =
    method === 'GET'
      ? `Answers the verification request of the platform of "${name}".`
      : `Accepts requests of the platform of "${name}", which must be signed.`
  const response = { 200: { description: 'What the platform expects.', content: {} }, ...failures(401, 404, 429) }
  return { method, path, routeGroup: 'channels', schema: { summary, response } }
}

/**
 * Throws `not_found` for anything that takes no requests, whatever the reason, and `channel_unavailable` while the
 * account connects or another gateway has it: the platform then sends its request again.
 */
function findHandle({ params }: FastifyRequest, { connections }: ChannelRoutesDeps): { link: Link; handle: Handle } {
  const { name, account } = params as Params
  const link = connections.find(name, account)
  if (!link) throw new GatewayError('not_found')
  const { state } = link.health()
  if (awaited.has(state)) throw unavailable()
  const { connection } = link
  if (!connection?.handle) throw new GatewayError('not_found')
  return { link, handle: connection.handle.bind(connection) }
}

const unavailable = (cause?: unknown): GatewayError =>
  new GatewayError('channel_unavailable', undefined, { cause, retryAfter: retryAfterSeconds })

async function answer(request: FastifyRequest, reply: FastifyReply, deps: ChannelRoutesDeps): Promise<FastifyReply> {
  // The account may have lost its connection while the body arrived.
  const { link, handle } = findHandle(request, deps)
  const response = await callHandle(handle, request).catch((error: unknown) => {
    const fields = { channel: link.channel.name, accountId: link.accountId, reqId: request.id }
    deps.log.error({ ...fields, ...describeThrown(error) }, 'the channel failed at a request of its platform')
    throw unavailable(error)
  })
  judge(request, response.status, deps.throttle)
  return send(reply, response)
}

/** Rejects if the channel takes too long, or if its response is not one. */
async function callHandle(handle: Handle, request: FastifyRequest): Promise<PlatformResponse> {
  const wait = new AbortController()
  const notStored = () => wait.abort(new Error(`nothing was stored within ${storeMs / 1000} seconds`))
  const timer = setTimeout(notStored, storeMs)
  const limit = { ms: handleMs, reason: () => new Error(`handle took longer than ${handleMs / 1000} seconds`) }
  try {
    const handling = withDeadline(limit, () => handle(readPlatformRequest(request, wait.signal)))
    const response = (await handling) as PlatformResponse | undefined
    const status: unknown = response?.status
    if (response && Number.isInteger(status) && response.status >= 200 && response.status <= 599) return response
    throw new TypeError('handle must return { status, body? } with a status from 200 to 599')
  } finally {
    clearTimeout(timer)
  }
}

function readPlatformRequest({ raw, query, rawBody }: FastifyRequest, signal: AbortSignal): PlatformRequest {
  const first = (value: unknown): string => String(Array.isArray(value) ? value[0] : value)
  const headers = Object.entries(raw.headers).map(([name, value]) => [name, [value].flat().join(', ')])
  return {
    method: raw.method === 'POST' ? 'POST' : 'GET',
    headers: Object.fromEntries(headers) as PlatformRequest['headers'],
    query: Object.fromEntries(Object.entries(query as object).map(([name, value]) => [name, first(value)])),
    body: rawBody ?? Buffer.alloc(0),
    signal,
  }
}

/**
 * Limits failed attempts, as for webhooks: a request that the channel accepts is answered even while its address is
 * locked out, and clears the count. A handshake, or an answer such as that to a wrong body, proves nothing.
 */
function judge({ client: { key }, method }: FastifyRequest, status: number, throttle: Throttle): void {
  if (status === 401 || status === 403) recordFailure(throttle, key)
  else if (method === 'POST' && status < 300) throttle.clear(key)
}

function send(reply: FastifyReply, { status, body }: PlatformResponse): FastifyReply {
  reply.code(status).header('cache-control', 'no-store')
  if (body === undefined) return reply.send()
  if (typeof body === 'string') return reply.type('text/plain; charset=utf-8').serializer(String).send(body)
  return reply.type('application/json; charset=utf-8').serializer(String).send(JSON.stringify(body))
}
