// POST /mcp: offers the tools, under the same policy, to clients of the Model Context Protocol. It is stateless.
import { Readable } from 'node:stream'
import type { CallToolResult, Server } from '@modelcontextprotocol/server'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'
import { readBody } from '../http/body.ts'
import { failures, withoutBody } from '../http/failure.ts'
import { refuseForeignOrigins } from '../http/cors-origin.ts'
import { setRouteGroup } from '../http/route-list.ts'
import type { Json } from '../plugin/plugin.ts'
import type { Invoke } from './invoke.ts'
import { McpHeaders, McpMessage } from './schemas.ts'
import type { Policy } from './policy.ts'
import { resolveSession, type SessionOwners } from './session.ts'
import type { Subject } from './subject.ts'

export interface McpDeps {
  auth: onRequestHookHandler
  allowedOrigins: readonly string[]
  policy: Pick<Policy, 'listed'>
  invoke: Invoke
  agents: SessionOwners
  /** Version of the gateway, reported to clients. */
  version: string
}

const maxBodyBytes = 2 * 1024 * 1024
const schema = {
  summary: 'Handles one message of the Model Context Protocol.',
  body: McpMessage,
  headers: McpHeaders,
  response: { 200: McpMessage, 202: withoutBody('The notification was accepted.'), ...failures(403) },
}

export function registerMcp(
  app: FastifyInstance,
  { auth, allowedOrigins, policy, invoke, agents, version }: McpDeps,
): void {
  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'mcp')
    routeGroup.addHook('onRequest', auth)
    routeGroup.addHook('onRequest', refuseForeignOrigins(allowedOrigins))
    routeGroup.addHook('preValidation', readBody({ maxBytes: maxBodyBytes, accept: 'object' }))
    routeGroup.post('/mcp', { schema }, async (request, reply) => {
      const subject = subjectOf(request, agents)
      // Loaded by the first request, to keep the start fast.
      const sdk = await import('@modelcontextprotocol/server')
      const handler = sdk.createMcpHandler(() => createMcpServer(sdk, { subject, policy, invoke, version }), {
        maxSubscriptions: 0,
      })
      const response = await handler.fetch(toWebRequest(request, reply), { parsedBody: request.body })
      return await relay(reply, response)
    })
  })
}

function subjectOf({ headers }: FastifyRequest, agents: SessionOwners): Subject {
  const readHeader = (name: string): string | undefined => (headers[name] as string | undefined)?.trim() || undefined
  const session = resolveSession(agents, readHeader('x-svc-session-key'))
  return {
    caller: 'http',
    ...session,
    channel: readHeader('x-svc-message-channel'),
    accountId: readHeader('x-svc-account-id'),
  }
}

type Sdk = typeof import('@modelcontextprotocol/server')

/** A server for one request, with the tools that the subject may use. */
function createMcpServer(
  sdk: Sdk,
  { subject, policy, invoke, version }: { subject: Subject } & Pick<McpDeps, 'policy' | 'invoke' | 'version'>,
): Server {
  const server = new sdk.Server({ name: 'svc-gateway', version }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: policy
      .listed(subject)
      .map(({ tool: { name, description, args } }) => ({ name, description, inputSchema: args as { type: 'object' } })),
  }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    try {
      return toCallResult(
        await invoke({ tool: params.name, args: params.arguments ?? {}, subject, signal: mcpReq.signal }),
      )
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
  const isRecord = typeof result === 'object' && result !== null && !Array.isArray(result)
  return { content: [{ type: 'text', text }], ...(isRecord && { structuredContent: { ...result } }) }
}

/** The request without its credential. Its signal aborts when the client disconnects. */
function toWebRequest({ headers }: FastifyRequest, { raw }: FastifyReply): Request {
  const forwarded = Object.entries(headers).filter(([name]) => name === 'accept' || name.startsWith('mcp-'))
  const disconnected = new AbortController()
  raw.once('close', () => disconnected.abort())
  return new Request('http://gateway/mcp', {
    method: 'POST',
    headers: {
      ...Object.fromEntries(forwarded.map(([name, value]) => [name, String(value)])),
      'content-type': 'application/json',
    },
    signal: disconnected.signal,
  })
}

function relay(reply: FastifyReply, { status, headers, body }: Response): FastifyReply {
  void reply.code(status).headers(Object.fromEntries(headers))
  return reply.send(body ? Readable.fromWeb(body) : undefined)
}
