// Registers the control routes for operators: /runs, /api, /openapi.json, /metrics and the page /docs.
import type { FastifyInstance, FastifyReply, onRequestHookHandler } from 'fastify'
import { readBody } from '../http/body.ts'
import { failures } from '../http/failure.ts'
import { setRouteGroup, type RouteInfo } from '../http/route-list.ts'
import { Type } from '../typebox.ts'
import { pageHeaders, readPageFile } from './docs-page.ts'
import type { Endpoint } from './endpoint.ts'
import { count } from './metrics/counters.ts'
import type { Meters } from './metrics/meters.ts'
import { type Metrics, metricsType } from './metrics/metrics.ts'
import { readVersion } from './version.ts'

export interface ControlRoutesDeps {
  auth: onRequestHookHandler
  endpoints: readonly Endpoint[]
  routes: () => readonly RouteInfo[]
  meters: Meters
  metrics: Metrics
}

const maxBodyBytes = 2 * 1024 * 1024

export function registerControl(
  app: FastifyInstance,
  { auth, endpoints, routes, meters, metrics }: ControlRoutesDeps,
): void {
  countRequests(app, meters)
  registerDocs(app)
  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'control')
    routeGroup.addHook('onRequest', auth)
    routeGroup.addHook('onRequest', (_request, reply, done) => {
      reply.headers(privateHeaders)
      done()
    })
    routeGroup.addHook('preValidation', readBody({ maxBytes: maxBodyBytes, accept: 'object' }))
    for (const { method, path, schema, hasSecretPath = false, handle } of endpoints) {
      routeGroup.route({
        method,
        url: path,
        schema,
        config: { hasSecretPath },
        handler: ({ params, query, body, client }) => handle({ params, query, body, client: client.address }),
      })
    }
    registerDocument(routeGroup, routes)
    routeGroup.get('/metrics', { schema: schemas.metrics }, async (_request, reply) =>
      reply.type(metricsType).send(await metrics.read()),
    )
    routeGroup.addHook('onClose', async () => metrics.close())
  })
}

/** Responses are private: caches must not store them and pages must not embed them. */
const privateHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Counts every response of every route group. */
function countRequests(app: FastifyInstance, { httpRequests }: Meters): void {
  app.addHook('onSend', (...[request, reply, payload, done]) => {
    count(
      httpRequests,
      `route_group="${request.routeOptions.config.routeGroup ?? 'none'}",status="${reply.statusCode}"`,
    )
    done(null, payload)
  })
}

/** Builds the document for each request, because an edited transform may change its payload schema. */
function registerDocument(routeGroup: FastifyInstance, routes: ControlRoutesDeps['routes']): void {
  routeGroup.get('/openapi.json', { schema: schemas.document }, async (_request, reply) => {
    const { createOpenApi } = await import('./openapi.ts')
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(createOpenApi(routes(), readVersion())))
  })
}

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
