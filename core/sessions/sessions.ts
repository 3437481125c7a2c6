// What tools may see of the conversations.
import type { SessionStatus, SessionSummary, SessionsView } from '../plugin.ts'
import type { Store, StoredSession } from '../store/store.ts'
import { readTranscript, viewTranscript } from './transcript.ts'

const longestList = 200
const usualList = 50
const bounded = (limit: number): number => Math.min(Math.max(1, limit), longestList)

export function createSessionsView(store: Store): SessionsView {
  return {
    list: async ({ agentId, limit = usualList } = {}) => {
      const sessions = await store.listSessions({ limit: bounded(limit), ...(agentId !== undefined && { agentId }) })
      return sessions.map(summarise)
    },
    status: async (key) => {
      const session = await store.getSession(key)
      return session && (await describe(store, session))
    },
    history: async (key, { limit = usualList } = {}) => {
      const [session, entries] = await Promise.all([store.getSession(key), readTranscript(store, key, bounded(limit))])
      return session && viewTranscript(entries)
    },
  }
}

const summarise = ({ key, agentId, updatedAt }: StoredSession): SessionSummary => ({ key, agentId, updatedAt: new Date(updatedAt).toISOString() })

async function describe(store: Store, session: StoredSession): Promise<SessionStatus> {
  const [counts, last] = await Promise.all([store.sessionCounts(session.key), store.lastRoute(session.key)])
  return {
    ...summarise(session),
    ...(last && { lastRoute: { channel: last.channel, to: last.to, accountId: last.accountId, ...(last.threadId !== null && { threadId: last.threadId }) } }),
    waitingEvents: counts.events,
    queuedRuns: counts.queued,
    runningRuns: counts.running,
    transcriptMessages: counts.transcript,
  }
}
