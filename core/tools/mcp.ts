// POST /mcp, the same tools under the same policy for clients that speak the Model Context Protocol, stateless.
import { Readable } from 'node:stream'
import type { CallToolResult, Server } from '@modelcontextprotocol/server'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'
import { readBody } from '../http/body.ts'
import { failures, withoutBody } from '../http/failure.ts'
import { refuseStrangeOrigins } from '../http/cors-origin.ts'
import { setRouteGroup } from '../http/route-list.ts'
import type { Json } from '../plugin.ts'
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
  /** Of the gateway, as clients are told. */
  version: string
}

const maxBodyBytes = 2 * 1024 * 1024
const schema = {
  summary: 'Speaks the Model Context Protocol, one message at a time.',
  body: McpMessage,
  headers: McpHeaders,
  response: { 200: McpMessage, 202: withoutBody('A notification was taken.'), ...failures(403) },
}

export function registerMcp(
  app: FastifyInstance,
  { auth, allowedOrigins, policy, invoke, agents, version }: McpDeps,
): void {
  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'mcp')
    routeGroup.addHook('onRequest', auth)
    routeGroup.addHook('onRequest', refuseStrangeOrigins(allowedOrigins))
    routeGroup.addHook('preValidation', readBody({ maxBytes: maxBodyBytes, accept: 'object' }))
    routeGroup.post('/mcp', { schema }, async (request, reply) => {
      const subject = subjectOf(request, agents)
      // Loaded by the first request, so that starting never waits for it.
      const sdk = await import('@modelcontextprotocol/server')
      const handler = sdk.createMcpHandler(() => createMcpServer(sdk, { subject, policy, invoke, version }), {
        maxSubscriptions: 0,
      })
      const response = await handler.fetch(webRequest(request, reply), { parsedBody: request.body })
      return await relay(reply, response)
    })
  })
}

function subjectOf({ headers }: FastifyRequest, agents: SessionOwners): Subject {
  const named = (name: string): string | undefined => (headers[name] as string | undefined)?.trim() || undefined
  const session = resolveSession(agents, named('x-svc-session-key'))
  return { caller: 'http', ...session, channel: named('x-svc-message-channel'), accountId: named('x-svc-account-id') }
}

type Sdk = typeof import('@modelcontextprotocol/server')

/** A server for one request; it knows only the tools that the subject may use. */
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
      return resultOf(await invoke({ tool: params.name, args: params.arguments ?? {}, subject, signal: mcpReq.signal }))
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (error.code === 'tool_not_available')
        throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, error.publicMessage)
      // A model reads this one, and may do better.
      return { content: [{ type: 'text', text: error.publicMessage }], isError: true }
    }
  })
  return server
}

/** Text for models, and for programs the value itself where the protocol can carry it. */
function resultOf(result: Json): CallToolResult {
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  const isRecord = typeof result === 'object' && result !== null && !Array.isArray(result)
  return { content: [{ type: 'text', text }], ...(isRecord && { structuredContent: { ...result } }) }
}

/** The request as far as the protocol is concerned: its credential stays here. It aborts when the client goes away. */
function webRequest({ headers }: FastifyRequest, { raw }: FastifyReply): Request {
  const own = Object.entries(headers).filter(([name]) => name === 'accept' || name.startsWith('mcp-'))
  const over = new AbortController()
  raw.once('close', () => over.abort())
  return new Request('http://gateway/mcp', {
    method: 'POST',
    headers: {
      ...Object.fromEntries(own.map(([name, value]) => [name, String(value)])),
      'content-type': 'application/json',
    },
    signal: over.signal,
  })
}

function relay(reply: FastifyReply, { status, headers, body }: Response): FastifyReply {
  void reply.code(status).headers(Object.fromEntries(headers))
  return reply.send(body ? Readable.fromWeb(body) : undefined)
}
