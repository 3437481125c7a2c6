// Registers the control routes for operators: /runs, /api, /openapi.json, /metrics and the page /docs.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { readBody } from '../http/body.ts'
import { failures } from '../http/failure.ts'
import { type Access, guardRoutes, type Principal, type RouteGuard } from '../http/access.ts'
import { setRouteGroup, type RouteInfo } from '../http/route-list.ts'
import { type TSchema, Type } from '../typebox.ts'
import { pageHeaders, readPageFile } from './docs-page.ts'
import type { CallEndpoint } from './call-endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import type { Meters } from './metrics/meters.ts'
import { type Metrics, metricsType } from './metrics/metrics.ts'
import { readVersion } from '../version.ts'

export interface ControlRoutesDeps {
  guard: RouteGuard
  endpoints: readonly Endpoint[]
  call: CallEndpoint
  routes: () => readonly RouteInfo[]
  meters: Meters
  metrics: Metrics
}

const metricsAccess: Access = { needs: 'read', scope: 'gateway' }
const documentAccess: Access = { needs: 'read', scope: 'public' }

const maxBodyBytes = 2 * 1024 * 1024

export function registerControl(
  app: FastifyInstance,
  { guard, endpoints, call, routes, meters, metrics }: ControlRoutesDeps,
): void {
  countRequests(app, meters)
  registerDocs(app)
  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'control')
    // Responses are private, also those that refuse a request: caches must not store them.
    routeGroup.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'no-store')
      done()
    })
    guardRoutes(routeGroup, guard)
    routeGroup.addHook('preValidation', readBody({ maxBytes: maxBodyBytes, accept: 'object' }))
    for (const endpoint of endpoints) {
      const { method, path, access, schema, hasSecretPath = false, headersOf } = endpoint
      routeGroup.route({
        method,
        url: path,
        schema: { ...schema, querystring: closeQuery(schema.querystring) },
        config: { access, hasSecretPath },
        handler: async ({ params, query, body, headers, principal, client }, reply) => {
          const caller = { principal, via: 'http', address: client.address } as const
          const result = await call(endpoint, { params, query, body, headers }, caller)
          if (headersOf) reply.headers(headersOf(result))
          return result
        },
      })
    }
    registerDocument(routeGroup, routes)
    routeGroup.get(
      '/metrics',
      { schema: schemas.metrics, config: { access: metricsAccess } },
      async (_request, reply) => reply.type(metricsType).send(await metrics.read()),
    )
    routeGroup.addHook('onClose', async () => metrics.close())
  })
}

/** Counts every response of every route group. */
function countRequests(app: FastifyInstance, { countRequest }: Meters): void {
  app.addHook('onSend', (...[request, reply, payload, done]) => {
    const { routeGroup = 'none' } = request.routeOptions.config
    countRequest({ route_group: routeGroup, status: String(reply.statusCode) })
    done(null, payload)
  })
}

/** Builds the document for each request, because an edited transform may change its payload schema. */
function registerDocument(routeGroup: FastifyInstance, routes: ControlRoutesDeps['routes']): void {
  routeGroup.get(
    '/openapi.json',
    { schema: schemas.document, config: { access: documentAccess } },
    async (reader, reply) => {
      const { createOpenApi } = await import('./openapi.ts')
      const visible = routes().filter((route) => isVisible(route, reader.principal))
      const document = createOpenApi(visible, { version: readVersion(), reader })
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(document))
    },
  )
}

/** Names of hooks and channels concern the whole gateway, and their senders have other credentials. */
const isVisible = ({ routeGroup }: RouteInfo, { agents }: Principal): boolean =>
  !agents || (routeGroup !== 'hooks' && routeGroup !== 'channels')

/** The page is public, because a browser cannot send a credential with a URL. The document that it shows is not. */
function registerDocs(app: FastifyInstance): void {
  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'docs')
    routeGroup.get('/docs', { schema: schemas.page }, (_request, reply) => sendFile(reply, ''))
    routeGroup.get<{ Params: { file: string } }>('/docs/:file', { schema: schemas.file }, ({ params }, reply) =>
      sendFile(reply, params.file),
    )
  })
}

async function sendFile(reply: FastifyReply, name: string): Promise<FastifyReply> {
  const { type, content } = await readPageFile(name)
  return reply.headers(pageHeaders).type(type).send(content)
}

const responseOfType = (type: string, description: string) => ({
  description,
  content: { [type]: { schema: Type.String() } },
})

const schemas = {
  document: {
    summary: 'Returns this document.',
    response: { 200: Type.Unsafe<object>({ type: 'object', description: 'OpenAPI 3.1.' }) },
  },
  metrics: {
    summary: 'Returns the metrics for Prometheus.',
    response: { 200: responseOfType('text/plain', 'The Prometheus text format.') },
  },
  page: {
    summary: 'Shows this document as a web page.',
    response: { 200: responseOfType('text/html', 'A page that asks for the credential.') },
  },
  file: {
    summary: 'Returns a file of the page.',
    params: Type.Object({ file: Type.String() }),
    response: { 200: responseOfType('*/*', 'A script or a stylesheet.'), ...failures(404) },
  },
}

/** A misspelled filter would otherwise return everything. */
const closeQuery = (querystring: TSchema = Type.Object({})): TSchema => ({
  ...querystring,
  additionalProperties: false,
})
