// POST /mcp: offers the tools, under the same policy, to clients of the Model Context Protocol. It is stateless.
import { Readable } from 'node:stream'
import type { CallToolResult, Server } from '@modelcontextprotocol/server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isRecord } from '../config/walk.ts'
import { GatewayError } from '../errors.ts'
import { disconnectSignal } from '../http/disconnect.ts'
import { readBody } from '../http/body.ts'
import { failures, withoutBody } from '../http/failure.ts'
import { refuseForeignOrigins } from '../http/cors-origin.ts'
import { authorize, guardRoutes, type RouteGuard } from '../http/access.ts'
import { setRouteGroup } from '../http/route-list.ts'
import type { Json } from '../plugin/plugin.ts'
import { Type } from '../typebox.ts'
import type { Caller, ToolRequest } from './request.ts'
import { readHeader, subjectOf } from './request-subject.ts'
import { toolAccess } from './routes.ts'
import { toAnnotations } from './annotations.ts'
import type { RuleOfTwo } from './rule-of-two.ts'
import { McpHeaders, McpMessage } from './schemas.ts'
import type { Policy } from './policy.ts'
import type { SessionOwners } from './session.ts'
import type { Subject } from './subject.ts'

export interface McpDeps {
  guard: RouteGuard
  allowedOrigins: readonly string[]
  policy: Pick<Policy, 'listed'>
  ruleOfTwo: Pick<RuleOfTwo, 'effectsOf'>
  invokeTool: ToolRequest
  agents: SessionOwners
  /** Version of the gateway, reported to clients. */
  version: string
}

const maxBodyBytes = 2 * 1024 * 1024
const reply = {
  description: 'The answer, in a stream of events if the client accepts one.',
  content: {
    'application/json': { schema: McpMessage },
    'text/event-stream': { schema: Type.String({ description: 'Each event holds one message as JSON.' }) },
  },
}
const schema = {
  summary: 'Handles one message of the Model Context Protocol.',
  body: McpMessage,
  headers: McpHeaders,
  response: { 200: reply, 202: withoutBody('The notification was accepted.'), ...failures(403) },
}

export function registerMcp(
  app: FastifyInstance,
  { guard, allowedOrigins, policy, ruleOfTwo, invokeTool, agents, version }: McpDeps,
): void {
  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'mcp')
    guardRoutes(routeGroup, guard)
    routeGroup.addHook('onRequest', refuseForeignOrigins(allowedOrigins))
    routeGroup.addHook('preValidation', readBody({ maxBytes: maxBodyBytes, accept: 'object' }))
    routeGroup.post('/mcp', { schema, config: { access: toolAccess.list } }, async (request, reply) => {
      if (readMcpCall(request)) authorize(request.principal, toolAccess.invoke)
      const subject = subjectOf(request, { agents, sessionKey: readHeader(request, 'x-svc-session-key') })
      const { principal, client } = request
      const caller: Caller = { principal, via: 'mcp', address: client.address }
      // Loaded by the first request, to keep the start fast.
      const sdk = await import('@modelcontextprotocol/server')
      const serve = () => createMcpServer(sdk, { subject, caller, policy, ruleOfTwo, invokeTool, version })
      const handler = sdk.createMcpHandler(serve, { maxSubscriptions: 0 })
      const response = await handler.fetch(toWebRequest(request, reply), { parsedBody: request.body })
      return await relay(reply, response)
    })
  })
}

/** The tool that a message calls; undefined for other messages. */
export function readMcpCall({ body }: Pick<FastifyRequest, 'body'>): { tool: string } | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } }
  return method === 'tools/call' ? { tool: String(params?.name) } : undefined
}

type Sdk = typeof import('@modelcontextprotocol/server')

interface McpServerDeps extends Pick<McpDeps, 'policy' | 'ruleOfTwo' | 'invokeTool' | 'version'> {
  subject: Subject
  caller: Caller
}

/** A server for one request, with the tools that the subject may use. */
function createMcpServer(sdk: Sdk, deps: McpServerDeps): Server {
  const { subject, caller, policy, ruleOfTwo, invokeTool, version } = deps
  const server = new sdk.Server({ name: 'svc-gateway', version }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: policy.listed(subject).map((entry) => {
      const { name, description, args } = entry.tool
      const annotations = toAnnotations(entry.tool, ruleOfTwo.effectsOf(entry))
      return { name, description, inputSchema: args as { type: 'object' }, annotations }
    }),
  }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    try {
      const body = { tool: params.name, args: params.arguments ?? {} }
      const { result } = await invokeTool(body, subject, { ...caller, signal: mcpReq.signal })
      return toCallResult(result as Json)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (error.code === 'tool_not_available')
        throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, error.publicMessage)
      // A model reads this error and may correct its arguments.
      return { content: [{ type: 'text', text: error.publicMessage }], isError: true }
    }
  })
  return server
}

/** The result as text for models, and also as structured content for programs if it is an object. */
function toCallResult(result: Json): CallToolResult {
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  return { content: [{ type: 'text', text }], ...(isRecord(result) && { structuredContent: { ...result } }) }
}

/** The request without its credential. Its signal aborts when the client disconnects. */
function toWebRequest({ headers }: FastifyRequest, reply: FastifyReply): Request {
  const forwarded = Object.entries(headers).filter(([name]) => name === 'accept' || name.startsWith('mcp-'))
  return new Request('http://gateway/mcp', {
    method: 'POST',
    headers: {
      ...Object.fromEntries(forwarded.map(([name, value]) => [name, String(value)])),
      'content-type': 'application/json',
    },
    signal: disconnectSignal(reply),
  })
}

function relay(reply: FastifyReply, { status, headers, body }: Response): FastifyReply {
  void reply.code(status).headers(Object.fromEntries(headers))
  return reply.send(body ? Readable.fromWeb(body) : undefined)
}
