// An MCP server over HTTP, with tools that answer at once.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Document } from '../helpers.ts'

export interface McpServer {
  url: string
  close(): void
}

interface McpTools {
  /** Their descriptions, by name. */
  tools: Record<string, string>
  /** Returns the text of a result. */
  call(args: Record<string, string>, tool: string): string
}

interface McpRequest {
  id?: number
  method?: string
  params?: { name?: string; arguments?: Record<string, string> }
}

export async function startMcpServer({ tools, call }: McpTools): Promise<McpServer> {
  const listed = Object.entries(tools).map(([name, description]) => ({
    name,
    description,
    inputSchema: { type: 'object' },
  }))
  const answer = ({ method, params }: McpRequest): Document => {
    if (method === 'initialize')
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'double', version: '1' },
      }
    if (method === 'tools/list') return { tools: listed }
    if (method !== 'tools/call') return {}
    return { content: [{ type: 'text', text: call(params?.arguments ?? {}, params?.name ?? '') }] }
  }
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = JSON.parse((await request.toArray()).join('') || '{}') as McpRequest
    if (asked.id === undefined) {
      // It offers no stream, and notifications need no answer.
      response.writeHead(request.method === 'POST' ? 202 : 405).end()
      return
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: answer(asked) })
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  const server = createServer((request, response) => void respond(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
