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

interface Link {
  client: Client
  transport: Transport
  /** What waits for an answer. */
  uses: Set<Promise<unknown>>
}

/** Resolves after the first list of tools. */
export async function openSession(deps: SessionDeps): Promise<Session> {
  const { sdk, signal, lost, onTools } = deps
  let known = ''
  const list = async (): Promise<void> => {
    const listed = await inSession((client) => listTools(client, signal))
    const text = JSON.stringify(listed)
    if (text !== known) onTools(listed, call)
    known = text
  }
  const refresh = coalesce(list, { signal, giveUp: lost })
  let link = openLink(deps, refresh)

  /** A server that has started again does not know its session, so it has not executed what it answers with 404. */
  const inSession: InSession = async (use) => {
    const used = link
    const { transport } = await used
    try {
      return await useLink(await used, use)
    } catch (error) {
      const isForgotten = error instanceof sdk.SdkHttpError && error.status === 404 && transport.sessionId !== undefined
      if (!isForgotten || signal.aborted) throw error
      if (link === used) link = renew(await used)
      return await useLink(await link, use)
    }
  }

  async function renew(old: Link): Promise<Link> {
    old.client.onclose = undefined
    // Other calls may still wait for the answer that their session is not known.
    const end = (): Promise<void> => closeLink(old)
    signal.addEventListener('abort', () => void end(), { once: true })
    void Promise.allSettled(old.uses).then(end)
    try {
      const next = await openLink(deps, refresh)
      refresh()
      return next
    } catch (error) {
      lost('it does not know its session any more, and opens no new one')
      throw error
    }
  }

  const call = createCall(inSession, { sdk, onDoubt: refresh })
  signal.addEventListener('abort', () => onTools([], call), { once: true })
  const close = async (): Promise<void> => {
    const open = await link.catch(() => undefined)
    if (open) await leave(open)
  }
  await link
  try {
    await list()
    return { close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Calls it with the client of the session, and once more in a new session if the server has forgotten this one. */
type InSession = <Result>(use: (client: Client) => Promise<Result>) => Promise<Result>

async function useLink<Result>({ client, uses }: Link, use: (client: Client) => Promise<Result>): Promise<Result> {
  const using = use(client)
  uses.add(using)
  try {
    return await using
  } finally {
    uses.delete(using)
  }
}

async function openLink(
  { sdk, server, settings, signal, exit, log, lost }: SessionDeps,
  onChanged: () => void,
): Promise<Link> {
  const client = new sdk.Client(
    { name: 'svc-gateway', version: gatewayVersion() },
    {
      // Probing the protocol of a program first would start it twice.
      versionNegotiation: { mode: settings.url === undefined ? 'legacy' : 'auto' },
      listChanged: { tools: { autoRefresh: false, onChanged } },
    },
  )
  const onTooLong = (): void => lost('it sent a message that is too long')
  const transport = createTransport(sdk, { server, settings, exit, log, onTooLong })
  client.onclose = () => lost('the connection was closed')
  try {
    await client.connect(transport, { timeout: connectMs, signal })
    return { client, transport, uses: new Set() }
  } catch (error) {
    await leave({ client, transport })
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

function createCall(inSession: InSession, { sdk, onDoubt }: { sdk: Sdk; onDoubt: () => void }): CallTool {
  return async (tool, args, { signal, traceHeaders }) => {
    try {
      const trace = traceHeaders()
      const toolDefinition = { name: tool['name'] as string, inputSchema: tool['inputSchema'] as { type: 'object' } }
      // MCP has the trace in the message, so that a program gets it, too.
      const request = { name: toolDefinition.name, arguments: args, ...(trace && { _meta: trace }) }
      return await inSession((client) => client.callTool(request, { signal, timeout: noLimitMs, toolDefinition }))
    } catch (error) {
      // There was no answer, or no valid one, so check whether the server is still there.
      if (!(error instanceof sdk.ProtocolError)) onDoubt()
      throw error
    }
  }
}

/** How long ending a session may take. */
const goodbyeMs = 500

async function leave({ client, transport }: Omit<Link, 'uses'>): Promise<void> {
  const goodbye =
    'terminateSession' in transport
      ? (transport as ReturnType<typeof createHttpTransport>).terminateSession()
      : undefined
  await Promise.race([goodbye?.catch(() => {}), delay(goodbyeMs, undefined, { ref: false })])
  await closeLink({ client, transport })
}

async function closeLink({ client, transport }: Omit<Link, 'uses'>): Promise<void> {
  await client.close().catch(() => {})
  await transport.close().catch(() => {})
}
