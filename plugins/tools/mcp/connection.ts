// Keeps one MCP server connected. Its tools are offered while it is connected.
import { createSupervisor, type Supervisor } from 'svc-gateway/kit'
import { connectMs, listMs } from './limits.ts'
import { openSession, type Session, type SessionDeps } from './session.ts'

interface ConnectionDeps extends Omit<SessionDeps, 'sdk' | 'signal' | 'lost'> {
  /** Called with why the server is not connected, and without a reason once it is. */
  onHealth(reason?: string): void
}

export function keepConnected({ onHealth, ...deps }: ConnectionDeps): Supervisor<Session> {
  const supervisor = createSupervisor<Session>({
    fields: { server: deps.server },
    onHealth: ({ state, reason }) => {
      if (state !== 'connecting') onHealth(state === 'connected' ? undefined : reason)
    },
    open: async (attempt) => {
      // Imported here, so that the start does not wait for it.
      const sdk = await import('@modelcontextprotocol/client')
      return await openSession({ ...deps, ...attempt, sdk })
    },
    openMs: connectMs + listMs,
    log: deps.log,
    messages: {
      opened: 'an MCP server is connected',
      failed: 'an MCP server is not connected; it is tried again',
      refused: 'an MCP server refuses its credentials; it waits for other settings',
    },
  })
  void supervisor.open()
  return supervisor
}
