// One connection to an MCP server, from the handshake to its end: its list of tools, kept fresh, and calls of them.
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import type { CallToolResult, Client, Transport } from '@modelcontextprotocol/client'
import type { Log } from 'svc-gateway/plugin'
import { createHttpTransport } from './http.ts'
import { connectMs, listMs, maxToolLength, maxTools, refreshPauseMs } from './limits.ts'
import type { ServerSettings } from './settings.ts'
import { isLongerThan } from './size.ts'
import { createStdioTransport } from './stdio.ts'

type Sdk = typeof import('@modelcontextprotocol/client')

/** A tool as the server lists it: nothing of it is known to be true. */
export type Listed = Readonly<Record<string, unknown>>

/** Calls a tool by the server's own name for it. Rejects with a ProtocolError when the server refuses the call. */
export type CallTool = (tool: Listed, args: Record<string, unknown>, signal: AbortSignal) => Promise<CallToolResult>

export interface SessionDeps {
  sdk: Sdk
  server: string
  settings: ServerSettings
  /** Ends the session. */
  signal: AbortSignal
  /** Aborts when the process exits: a program is killed then, without a goodbye. */
  exit: AbortSignal
  log: Log
  /** Called when the server has given its first list of tools. */
  onConnected(): void
  /** Called with every list of tools that the server gives, the first one included. */
  onTools(listed: readonly Listed[], call: CallTool): void
}

/** Runs the session to its end; resolves or rejects with the reason. */
export async function openSession({
  sdk,
  server,
  settings,
  signal,
  exit,
  log,
  onConnected,
  onTools,
}: SessionDeps): Promise<string> {
  const over = Promise.withResolvers<string>()
  const end = (reason: string): void => over.resolve(reason)
  let known = ''
  const list = async (): Promise<void> => {
    const listed = await listTools(client, signal)
    const text = JSON.stringify(listed)
    if (text !== known) onTools(listed, call)
    known = text
  }
  const refresh = coalesce(list, { signal, giveUp: end })
  const client = new sdk.Client(
    { name: 'svc-gateway', version: gatewayVersion() },
    {
      // A program is started once: asking first which protocol it speaks would start it twice.
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
    onTooLong: () => end('it sent a message that is too long'),
  })
  client.onclose = () => end('the connection was closed')
  const onAbort = (): void => end('the gateway stops')
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await client.connect(transport, { timeout: connectMs, signal })
    await list()
    onConnected()
    return await over.promise
  } finally {
    signal.removeEventListener('abort', onAbort)
    await leave(client, transport)
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
 * One refresh at a time, a pause, and one more when something changed meanwhile. A server that can't even list its
 * tools is given up.
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

/** Takes what the server sends as it is: one bad tool must not hide the others. */
const anything = {
  '~standard': { version: 1, vendor: 'svc-gateway', validate: (value: unknown) => ({ value }) },
} as const

async function listTools(client: Client, signal: AbortSignal): Promise<Listed[]> {
  const listed: Listed[] = []
  let cursor: unknown
  // One page more than there can be tools: a server that never ends its list, or sends empty pages, is left in time.
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

/** Of what is too large only the name is kept, to tell it in the log. */
function bounded(tool: unknown): Listed {
  const listed = (typeof tool === 'object' && tool !== null ? tool : { name: tool }) as Listed
  return isLongerThan(maxToolLength, listed)
    ? { name: String(listed['name']).slice(0, 100), fault: 'it is too large' }
    : listed
}

/** The caller's signal ends the call; the library has a limit of its own, which would come first. */
const noLimitMs = 2 ** 31 - 1

function createCall(client: Client, { sdk, onDoubt }: { sdk: Sdk; onDoubt: () => void }): CallTool {
  return async (tool, args, signal) => {
    try {
      const toolDefinition = { name: tool['name'] as string, inputSchema: tool['inputSchema'] as { type: 'object' } }
      return await client.callTool(
        { name: toolDefinition.name, arguments: args },
        { signal, timeout: noLimitMs, toolDefinition },
      )
    } catch (error) {
      // No answer, or none that could be read: is it still there?
      if (!(error instanceof sdk.ProtocolError)) onDoubt()
      throw error
    }
  }
}

/** How long a goodbye may take, in milliseconds. */
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
