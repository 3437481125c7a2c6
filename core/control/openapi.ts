// Builds the OpenAPI 3.1 document from the schemas of the routes.
import { type Access, neededRole } from '../http/access.ts'
import { Failure } from '../http/failure.ts'
import { STATUS_CODES } from '../http/node-http.ts'
import type { DocumentReader, RouteGroup, RouteInfo } from '../http/route-list.ts'

type Node = Readonly<Record<string, unknown>>

/** @param reader the request for the document: it describes only what its sender may use */
export function createOpenApi(routes: readonly RouteInfo[], { version, reader }: DocumentOptions): Node {
  const paths: Record<string, Record<string, Node>> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, { path, reader }) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc-gateway',
      version,
      description: 'Runs agents and makes them reachable over HTTP.',
    },
    servers: [{ url: '/' }],
    tags: Object.entries(routeGroups).map(([name, { description }]) => ({ name, description })),
    paths,
    components: { securitySchemes, schemas: { Failure }, responses: sharedResponses() },
  }
}

interface DocumentOptions {
  version: string
  reader: DocumentReader
}

interface RouteGroupInfo {
  description: string
  /** The accepted credentials, any one of which is enough. Empty: no credential is needed. */
  security: readonly Node[]
  /** True: each route needs a role. */
  hasRoles?: boolean
  /** One sentence that says what a route without a role needs. */
  needs?: string
}

const gatewayCredential = { security: [{ gateway: [] }], hasRoles: true }

const noCredential = 'Needs no credential.'

const routeGroups: Readonly<Record<RouteGroup, RouteGroupInfo>> = {
  hooks: {
    description: 'Webhooks of other services.',
    security: [{ hook: [] }, { hookHeader: [] }],
    needs: 'Needs the hook token.',
  },
  channels: {
    description: 'Requests of messaging platforms, which sign them in their own way.',
    security: [],
    needs: 'Needs no credential of the gateway.',
  },
  tools: { description: 'Calls one tool directly.', ...gatewayCredential },
  mcp: { description: 'The same tools for clients of the Model Context Protocol (MCP).', ...gatewayCredential },
  control: { description: 'Shows and controls the gateway, for operators.', ...gatewayCredential },
  socket: {
    description: 'JSON-RPC 2.0 over a WebSocket. The first message contains the credential.',
    security: [],
    needs: 'Needs no credential in the request.',
  },
  health: { description: 'Health checks.', security: [], needs: noCredential },
  docs: { description: 'This document as a web page.', security: [], needs: noCredential },
  page: { description: 'The control page.', security: [], needs: noCredential },
}

const securitySchemes = {
  hook: { type: 'http', scheme: 'bearer', description: 'The hook token, `hooks.token`.' },
  hookHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'x-svc-token',
    description: 'The hook token, for senders that cannot set `Authorization`.',
  },
  gateway: {
    type: 'http',
    scheme: 'bearer',
    description:
      "The gateway's own credential, `gateway.auth`, or the token of a client, `gateway.auth.clients`. A route names the " +
      'role that the client needs.',
  },
}

/** The error statuses that a route shares with others, by its method and route group. */
export function sharedStatuses({ method, routeGroup }: Pick<RouteInfo, 'method' | 'routeGroup'>): number[] {
  const guarded = routeGroup !== undefined && routeGroups[routeGroup].security.length > 0
  const hasRoles = routeGroup !== undefined && routeGroups[routeGroup].hasRoles === true
  return [
    400,
    405,
    408,
    431,
    503,
    ...(guarded ? [401, 429] : []),
    ...(hasRoles ? [403] : []),
    ...(method === 'POST' ? [413, 415] : []),
  ]
}

const sharedHeaders: Readonly<Record<number, Node>> = {
  401: header('WWW-Authenticate', 'Always `Bearer`.'),
  405: header('Allow', 'The methods that the path supports.'),
  429: header('Retry-After', 'Whole seconds.'),
  503: header('Retry-After', 'Whole seconds.'),
}

function header(name: string, description: string): Node {
  return { [name]: { description, schema: { type: 'string' } } }
}

const sharedDescriptions: Readonly<Record<number, string>> = {
  400: 'The request is not valid. The message says why.',
  401: 'The credential is missing or wrong.',
  403: 'The role of the client does not allow it, or a web page of an origin that is not allowed sends it.',
  405: 'The path does not support the method.',
  408: 'The request did not arrive in time.',
  413: 'The body is too large.',
  415: 'A compressed body is not accepted.',
  429: 'Too many failed attempts from this address.',
  431: 'The headers are too large.',
  503: 'The request was not accepted. Try again later.',
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

function operationOf(
  { method, routeGroup, access, schema }: RouteInfo,
  { path, reader }: { path: string; reader: DocumentReader },
): Node {
  const body: unknown = schema.readsBody?.(reader) ?? schema.body
  const parameters = [
    ...parametersOf('path', schema.params),
    ...parametersOf('query', schema.querystring),
    ...headersOf(schema),
  ]
  return {
    operationId: [method.toLowerCase(), ...path.split(/\W+/).filter(Boolean)].join('_'),
    summary: schema.summary,
    description: describeNeeds({ routeGroup, access, schema }),
    tags: [routeGroup],
    security: schema.signed ? [] : routeGroup && routeGroups[routeGroup].security,
    ...(parameters.length > 0 && { parameters }),
    ...((body !== undefined || schema.readsForms) && { requestBody: { content: contentOf(body, schema) } }),
    responses: responsesOf({ method, routeGroup, schema }),
  }
}

const scopes: Record<Access['scope'], string> = {
  agents: 'A client that is limited to agents sees only what belongs to them.',
  gateway: 'A client that is limited to agents may not use it.',
  public: '',
}

/** The role stands here and not among the scopes, which linters take for those of OAuth. */
function describeNeeds({ routeGroup, access, schema }: Pick<RouteInfo, 'routeGroup' | 'access' | 'schema'>) {
  if (access) return `Needs the role ${neededRole[access.needs]}. ${scopes[access.scope]}`.trim()
  if (schema.signed) return 'Needs the signature of the sender.'
  return routeGroup && routeGroups[routeGroup].needs
}

const contentOf = (body: unknown, { readsForms, readsText }: RouteInfo['schema']): Node => ({
  ...json(body ?? {}),
  ...(readsForms && Object.fromEntries(formTypes.map((type) => [type, { schema: { type: 'object' } }]))),
  ...(readsText && { 'text/*': { schema: { type: 'string' } } }),
})

const formTypes = ['application/x-www-form-urlencoded', 'multipart/form-data']

const headersOf = ({ headers, readsHeaders }: RouteInfo['schema']): Node[] => [
  ...parametersOf('header', headers),
  ...parametersOf('header', readsHeaders),
]

function parametersOf(location: string, schema: unknown): Node[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Node>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, 'x-schema': shown, ...rest }]) => ({
    name,
    in: location,
    description,
    required: required.includes(name),
    // The text of a query is a number for whoever calls.
    schema: shown ?? rest,
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

/** A response that is not JSON, or has no body, declares it in `content`. */
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
  403: 'The request comes from a web page of an origin that is not in `gateway.allowedOrigins`.',
  404: 'It does not exist, or the caller may not use it.',
  409: 'The current state does not allow it. The message says why.',
  422: 'The `Idempotency-Key` was used with another body before.',
  500: "An internal error. The gateway's log says more.",
  504: 'The time limit was exceeded.',
}

const isFailure = (answer: unknown): boolean => answer === Failure
