// What tools may see of the conversations.
import type { SessionStatus, SessionSummary, SessionsView } from '../plugin.ts'
import { agentOfKey } from '../store/operations/session-list.ts'
import type { Store, StoredSession } from '../store/store.ts'
import { readTranscript, viewTranscript } from './transcript.ts'

const longestList = 200
const usualList = 50
const bounded = (limit: number): number => Math.min(Math.max(1, limit), longestList)

export function createSessionsView(store: Store, defaultAgentId: string): SessionsView {
  const find = async (key: string) => (await store.getSession(key)) ?? (await onlyTold(store, key, defaultAgentId))
  return {
    list: async ({ agentId, limit = usualList } = {}) =>
      (await readSessions(store, { agentId, defaultAgentId, limit: bounded(limit) })).map(summarise),
    status: async (key) => {
      const session = await find(key)
      return session && (await describe(store, session))
    },
    history: async (key, { limit = usualList } = {}) => {
      const [session, entries] = await Promise.all([find(key), readTranscript(store, key, bounded(limit))])
      return session && viewTranscript(entries)
    },
  }
}

type ListFilter = Parameters<Store['listSessions']>[0]

/** A page may be short, so that one call never looks at very many sessions. */
async function readSessions(store: Store, filter: ListFilter): Promise<StoredSession[]> {
  const { items, next } = await store.listSessions(filter)
  const left = filter.limit - items.length
  return next && left > 0 ? [...items, ...(await readSessions(store, { ...filter, after: next, limit: left }))] : items
}

/** A session in which nothing has been said, but events wait. */
async function onlyTold(store: Store, key: string, defaultAgentId: string): Promise<StoredSession | undefined> {
  const [event] = await store.listWaitingEvents(key, { count: 1, characters: 1 })
  return event && { key, agentId: agentOfKey(key) ?? defaultAgentId, updatedAt: event.at }
}

const summarise = ({ key, agentId, updatedAt }: StoredSession): SessionSummary => ({
  key,
  agentId,
  updatedAt: new Date(updatedAt).toISOString(),
})

async function describe(store: Store, session: StoredSession): Promise<SessionStatus> {
  const [counts, last] = await Promise.all([store.getSessionCounts(session.key), store.getLastRoute(session.key)])
  return {
    ...summarise(session),
    ...(last && {
      lastRoute: {
        channel: last.channel,
        to: last.to,
        accountId: last.accountId,
        ...(last.threadId !== null && { threadId: last.threadId }),
      },
    }),
    waitingEvents: counts.events,
    queuedRuns: counts.queued,
    runningRuns: counts.running,
    transcriptMessages: counts.transcript,
  }
}
