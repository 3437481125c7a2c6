// Keeps one MCP server connected and reconnects with backoff. Its tools are offered while it is connected.
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from 'svc-gateway/plugin'
import { firstPauseMs, longestPauseMs, steadyMs } from './limits.ts'
import { openSession, type SessionDeps } from './session.ts'

export interface ConnectionDeps extends Omit<SessionDeps, 'sdk' | 'onConnected'> {
  log: Log
}

export interface Connection {
  /** Resolves when the connection has ended and its process is gone. */
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
  // Loaded here, so that the start does not wait for it.
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
    // The same cause is logged once, however often the connection fails.
    if (reason !== cause)
      deps.log.warn({ server: deps.server, reason }, 'an MCP server is not connected; it is tried again')
    cause = reason
    await delay(pauseMs, undefined, { signal: deps.signal }).catch(() => {})
  }
}

const refuse = (): Promise<never> => Promise.reject(new Error('the server is not connected'))

/** The first line of an error, cut for the log, because a server may send anything. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text.split('\n', 1)[0]?.slice(0, 300) ?? ''
}
