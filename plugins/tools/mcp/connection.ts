// Keeps one MCP server connected: its tools when it is there, none while it is not, a new attempt after a growing
// pause.
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from 'svc-gateway/plugin'
import { firstPauseMs, longestPauseMs, steadyMs } from './limits.ts'
import { openSession, type SessionDeps } from './session.ts'

export interface ConnectionDeps extends Omit<SessionDeps, 'sdk' | 'onConnected'> {
  log: Log
}

export interface Connection {
  /** Resolves when nothing of the server is left. */
  close(): Promise<void>
}

export function keepConnected(deps: ConnectionDeps): Connection {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, deps.signal])
  const kept = keep({ ...deps, signal }).catch((error: unknown) => {
    deps.log.error({ server: deps.server, reason: reasonOf(error) }, 'MCP servers cannot be used')
  })
  return {
    close: async () => {
      stop.abort()
      await kept
    },
  }
}

async function keep(deps: ConnectionDeps): Promise<void> {
  // Loaded here, so that the start never waits for it.
  const sdk = await import('@modelcontextprotocol/client')
  let cause: string | undefined
  for (let failures = 0; !deps.signal.aborted; failures++) {
    const since = performance.now()
    const onConnected = (): void => {
      deps.log.info({ server: deps.server, ...(failures > 0 && { failures }) }, 'an MCP server is connected')
      cause = undefined
    }
    const reason = await openSession({ ...deps, onConnected, sdk }).catch(reasonOf)
    deps.onTools([], refuse)
    if (deps.signal.aborted) return
    if (performance.now() - since > steadyMs) failures = 0
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** failures)
    // However often it is tried, one cause is told once.
    if (reason !== cause)
      deps.log.warn({ server: deps.server, reason }, 'an MCP server is not connected; it is tried again')
    cause = reason
    await delay(pauseMs, undefined, { signal: deps.signal }).catch(() => {})
  }
}

const refuse = (): Promise<never> => Promise.reject(new Error('the server is not connected'))

/** The first line of an error, short enough for the log. What a server says may be anything: it is cut. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text.split('\n', 1)[0]?.slice(0, 300) ?? ''
}
