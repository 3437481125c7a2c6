// The OpenAPI 3.1 document, made from the schemas that the routes themselves carry.
import { Failure } from '../http/failure.ts'
import { STATUS_CODES } from '../http/node-http.ts'
import type { RouteGroup, RouteInfo } from '../http/route-list.ts'

type Node = Readonly<Record<string, unknown>>

export function createOpenApi(routes: readonly RouteInfo[], version: string): Node {
  const paths: Record<string, Record<string, Node>> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, path) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc-gateway',
      version,
      description: 'Runs agents, and lets the outside world reach them over HTTP.',
    },
    servers: [{ url: '/' }],
    tags: Object.entries(routeGroups).map(([name, { description }]) => ({ name, description })),
    paths,
    components: { securitySchemes, schemas: { Failure }, responses: sharedResponses() },
  }
}

interface RouteGroupInfo {
  description: string
  /** The credentials that open it, each on its own; none: it is open. */
  security: readonly Node[]
}

const gatewayCredential = { security: [{ gateway: [] }] }

const routeGroups: Readonly<Record<RouteGroup, RouteGroupInfo>> = {
  hooks: { description: 'What other services call.', security: [{ hook: [] }, { hookHeader: [] }] },
  tools: { description: 'One tool, called directly.', ...gatewayCredential },
  mcp: { description: 'The same tools for clients of the Model Context Protocol.', ...gatewayCredential },
  control: { description: 'What the gateway shows of itself, and what an operator may do.', ...gatewayCredential },
  socket: { description: 'JSON-RPC 2.0 over a WebSocket, whose first message brings the credential.', security: [] },
  health: { description: 'For whoever watches the process.', security: [] },
  docs: { description: 'This document for people.', security: [] },
}

const securitySchemes = {
  hook: { type: 'http', scheme: 'bearer', description: 'The hook token, `hooks.token`.' },
  hookHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'x-svc-token',
    description: 'The hook token, for senders that cannot set `Authorization`.',
  },
  gateway: { type: 'http', scheme: 'bearer', description: "The gateway's own credential, `gateway.auth`." },
}

/** What any route may answer beside its own, by what it takes. */
export function sharedStatuses({ method, routeGroup }: Pick<RouteInfo, 'method' | 'routeGroup'>): number[] {
  const guarded = routeGroup !== undefined && routeGroups[routeGroup].security.length > 0
  return [400, 405, 408, 431, 503, ...(guarded ? [401, 429] : []), ...(method === 'POST' ? [413, 415] : [])]
}

const sharedHeaders: Readonly<Record<number, Node>> = {
  401: header('WWW-Authenticate', 'Always `Bearer`.'),
  405: header('Allow', 'The methods that the path takes.'),
  429: header('Retry-After', 'Whole seconds.'),
  503: header('Retry-After', 'Whole seconds.'),
}

function header(name: string, description: string): Node {
  return { [name]: { description, schema: { type: 'string' } } }
}

const sharedDescriptions: Readonly<Record<number, string>> = {
  400: 'The request is wrong; the message names what is.',
  401: 'The credential is missing or wrong.',
  405: 'The path takes another method.',
  408: 'The request did not arrive in time.',
  413: 'The body is too large.',
  415: 'A compressed body is not accepted.',
  429: 'Too many failed attempts came from this address.',
  431: 'The headers are too large.',
  503: 'Nothing was accepted; try again later.',
}

function sharedResponses(): Node {
  const response = (status: number, description: string) => ({
    description,
    headers: sharedHeaders[status],
    content: json({ $ref: '#/components/schemas/Failure' }),
  })
  return Object.fromEntries(
    Object.entries(sharedDescriptions).map(([status, description]) => [
      `Failure${status}`,
      response(Number(status), description),
    ]),
  )
}

const json = (schema: unknown): Node => ({ 'application/json': { schema } })

function operationOf({ method, routeGroup, schema }: RouteInfo, path: string): Node {
  const body: unknown = schema.body ?? schema.readsBody?.()
  const parameters = [
    ...parametersOf('path', schema.params),
    ...parametersOf('query', schema.querystring),
    ...headersOf(schema),
  ]
  return {
    operationId: [method.toLowerCase(), ...path.split(/\W+/).filter(Boolean)].join('_'),
    summary: schema.summary,
    tags: [routeGroup],
    security: schema.signed ? [] : routeGroup && routeGroups[routeGroup].security,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { content: json(body) } }),
    responses: responsesOf({ method, routeGroup, schema }),
  }
}

const headersOf = ({ headers, readsHeaders }: RouteInfo['schema']): Node[] => [
  ...parametersOf('header', headers),
  ...parametersOf('header', readsHeaders),
]

function parametersOf(place: string, schema: unknown): Node[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Node>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    description,
    required: required.includes(name),
    schema: rest,
  }))
}

function responsesOf({ method, routeGroup, schema }: Pick<RouteInfo, 'method' | 'routeGroup' | 'schema'>): Node {
  const shared = sharedStatuses({ method, routeGroup }).map((status) => [
    status,
    { $ref: `#/components/responses/Failure${status}` },
  ])
  const own = Object.entries((schema.response ?? {}) as Record<string, Node>).map(([status, answer]) => [
    status,
    responseOf(status, answer),
  ])
  return { ...Object.fromEntries(own), ...Object.fromEntries(shared) } as Node
}

/** A route that answers something else than JSON, or nothing, says so by `content`. */
function responseOf(status: string, answer: Node): Node {
  if (isFailure(answer))
    return {
      description: ownDescriptions[status] ?? STATUS_CODES[status] ?? status,
      content: json({ $ref: '#/components/schemas/Failure' }),
    }
  const content = answer['content'] ?? json(answer)
  return { description: answer['description'] ?? STATUS_CODES[status] ?? status, content }
}

const ownDescriptions: Readonly<Record<string, string>> = {
  403: 'A page of elsewhere asks; `gateway.allowedOrigins` lists those that may.',
  404: 'There is nothing of this name, or this caller may not use it.',
  409: 'The state of the thing does not allow it; the message says why.',
  422: 'The `Idempotency-Key` came with another body before.',
  500: "Something broke inside; the gateway's log says what.",
  504: 'It did not end within its time limit.',
}

const isFailure = (answer: unknown): boolean => answer === Failure
