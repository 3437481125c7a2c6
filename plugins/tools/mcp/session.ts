// One session with an MCP server: the handshake, the list of tools, and calls.
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import type { CallToolResult, Client, Transport } from '@modelcontextprotocol/client'
import type { Log, ToolContext } from 'svc-gateway/plugin'
import { createHttpTransport } from './http.ts'
import { connectMs, listMs, maxToolLength, maxTools, refreshPauseMs } from './limits.ts'
import type { ServerSettings } from './settings.ts'
import { isLongerThan } from './size.ts'
import { createStdioTransport } from './stdio.ts'

type Sdk = typeof import('@modelcontextprotocol/client')

/** A tool as the server lists it; none of it is verified. */
export type Listed = Readonly<Record<string, unknown>>

/** Calls a tool by its name on the server. Rejects with a ProtocolError if the server refuses the call. */
export type CallTool = (tool: Listed, args: Record<string, unknown>, context: CallContext) => Promise<CallToolResult>

/** The context of a call: the signal that ends it, and its trace. */
export type CallContext = Pick<ToolContext, 'signal' | 'traceHeaders'>

export interface SessionDeps {
  sdk: Sdk
  server: string
  settings: ServerSettings
  /** Ends the session. */
  signal: AbortSignal
  /** Aborts when the process exits: a program is then killed at once. */
  exit: AbortSignal
  log: Log
  /** Reports that the session has ended. */
  lost(reason: string): void
  /** Called with each list of tools, including the first, and with an empty one when the session ends. */
  onTools(listed: readonly Listed[], call: CallTool): void
}

export interface Session {
  /** Resolves when the connection has ended and its process is gone. */
  close(): Promise<void>
}

/** Resolves after the first list of tools. */
export async function openSession(deps: SessionDeps): Promise<Session> {
  const { sdk, server, settings, signal, exit, log, lost, onTools } = deps
  let known = ''
  const list = async (): Promise<void> => {
    const listed = await listTools(client, signal)
    const text = JSON.stringify(listed)
    if (text !== known) onTools(listed, call)
    known = text
  }
  const refresh = coalesce(list, { signal, giveUp: lost })
  const client = new sdk.Client(
    { name: 'svc-gateway', version: gatewayVersion() },
    {
      // Probing the protocol of a program first would start it twice.
      versionNegotiation: { mode: settings.url === undefined ? 'legacy' : 'auto' },
      listChanged: { tools: { autoRefresh: false, onChanged: refresh } },
    },
  )
  const call = createCall(client, { sdk, onDoubt: refresh })
  const transport = createTransport(sdk, {
    server,
    settings,
    exit,
    log,
    onTooLong: () => lost('it sent a message that is too long'),
  })
  client.onclose = () => lost('the connection was closed')
  signal.addEventListener('abort', () => onTools([], call), { once: true })
  const close = (): Promise<void> => leave(client, transport)
  try {
    await client.connect(transport, { timeout: connectMs, signal })
    await list()
    return { close }
  } catch (error) {
    await close()
    throw error
  }
}

function gatewayVersion(): string {
  const { version } = createRequire(import.meta.url)('svc-gateway/package.json') as { version: string }
  return version
}

type TransportDeps = Pick<SessionDeps, 'server' | 'settings' | 'exit' | 'log'> & { onTooLong: () => void }

function createTransport(sdk: Sdk, { server, settings, exit, log, onTooLong }: TransportDeps): Transport {
  const { url, headers = {} } = settings
  if (url !== undefined) return createHttpTransport(sdk, { url, headers, onTooLong })
  return createStdioTransport(sdk, {
    settings,
    exit,
    onSaid: (text) => log.debug({ server, text }, 'an MCP server says'),
  })
}

/**
 * Refreshes one at a time, with a pause in between, and once more if something changed meanwhile. The session ends if
 * the server cannot list its tools.
 */
function coalesce(
  work: () => Promise<void>,
  { signal, giveUp }: { signal: AbortSignal; giveUp: (reason: string) => void },
): () => void {
  let running = false
  let again = false
  const run = async (): Promise<void> => {
    running = true
    do {
      again = false
      await work()
      await delay(refreshPauseMs, undefined, { signal })
    } while (again)
    running = false
  }
  return () => {
    again = true
    if (!running) run().catch(() => giveUp('it does not list its tools any more'))
  }
}

/** Accepts the list without checking it: one bad tool must not hide the others. */
const anything = {
  '~standard': { version: 1, vendor: 'svc-gateway', validate: (value: unknown) => ({ value }) },
} as const

async function listTools(client: Client, signal: AbortSignal): Promise<Listed[]> {
  const listed: Listed[] = []
  let cursor: unknown
  // At most one page more than tools are allowed, so that a server with an endless list or empty pages is stopped.
  for (let page = 0; page <= maxTools && listed.length <= maxTools; page++) {
    const params = typeof cursor === 'string' ? { cursor } : {}
    const answer = await client.request({ method: 'tools/list', params }, anything, { timeout: listMs, signal })
    const { tools, nextCursor } = answer as Listed
    if (!Array.isArray(tools)) throw new Error('its list of tools is not a list')
    listed.push(...tools.slice(0, maxTools + 1).map(bounded))
    cursor = nextCursor
    if (typeof cursor !== 'string') break
  }
  return listed
}

/** If a tool is too large, only its name is kept, for the log. */
function bounded(tool: unknown): Listed {
  const listed = (typeof tool === 'object' && tool !== null ? tool : { name: tool }) as Listed
  return isLongerThan(maxToolLength, listed)
    ? { name: String(listed['name']).slice(0, 100), fault: 'it is too large' }
    : listed
}

/** The caller's signal ends the call. The default time limit of the library would be shorter. */
const noLimitMs = 2 ** 31 - 1

function createCall(client: Client, { sdk, onDoubt }: { sdk: Sdk; onDoubt: () => void }): CallTool {
  return async (tool, args, { signal, traceHeaders }) => {
    try {
      const trace = traceHeaders()
      const toolDefinition = { name: tool['name'] as string, inputSchema: tool['inputSchema'] as { type: 'object' } }
      return await client.callTool(
        // MCP has the trace in the message, so that a program gets it, too.
        { name: toolDefinition.name, arguments: args, ...(trace && { _meta: trace }) },
        { signal, timeout: noLimitMs, toolDefinition },
      )
    } catch (error) {
      // There was no answer, or no valid one, so check whether the server is still there.
      if (!(error instanceof sdk.ProtocolError)) onDoubt()
      throw error
    }
  }
}

/** How long ending a session may take. */
const goodbyeMs = 500

async function leave(client: Client, transport: Transport): Promise<void> {
  const goodbye =
    'terminateSession' in transport
      ? (transport as ReturnType<typeof createHttpTransport>).terminateSession()
      : undefined
  await Promise.race([goodbye?.catch(() => {}), delay(goodbyeMs, undefined, { ref: false })])
  await client.close().catch(() => {})
  await transport.close().catch(() => {})
}
