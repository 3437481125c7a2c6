// The view of sessions that tools get: lists, status and history.
import type { SessionMessage, SessionStatus, SessionSummary, SessionsView } from '../plugin/plugin.ts'
import { agentOfKey } from '../store/store.ts'
import type { Store, StoredSession, StoredTranscriptEntry } from '../store/store.ts'
import { readTranscript, viewTranscript } from './transcript.ts'

const maxLimit = 200
const defaultLimit = 50
const clampLimit = (limit: number): number => Math.min(Math.max(1, limit), maxLimit)

/** The sessions of all agents, or of those that a caller may reach. */
export interface AllSessions extends Omit<SessionsView, 'history'> {
  /** Also returns the entries that the messages show. */
  history(
    key: string,
    options?: { limit?: number },
  ): Promise<{ messages: SessionMessage[]; entries: readonly StoredTranscriptEntry[] } | undefined>
  list(options?: {
    agentId?: string
    /** Only sessions of these agents. */
    agents?: readonly string[] | undefined
    limit?: number
  }): Promise<SessionSummary[]>
}

export function createSessionsView(store: Store, defaultAgentId: string): AllSessions {
  const find = async (key: string) =>
    (await store.getSession(key)) ?? (await findSessionOfEvents(store, key, defaultAgentId))
  return {
    list: async ({ agentId, agents, limit = defaultLimit } = {}) =>
      (await readSessions(store, { agentId, agents, defaultAgentId, limit: clampLimit(limit) })).map(summarize),
    status: async (key) => {
      const session = await find(key)
      return session && (await readStatus(store, session))
    },
    history: async (key, { limit = defaultLimit } = {}) => {
      const [session, entries] = await Promise.all([find(key), readTranscript(store, key, clampLimit(limit))])
      return session && { messages: viewTranscript(entries), entries }
    },
  }
}

type ListFilter = Parameters<Store['listSessions']>[0]

/** Reads several pages if needed, because the store bounds the sessions that one call reads. */
async function readSessions(store: Store, filter: ListFilter): Promise<StoredSession[]> {
  const { items, next } = await store.listSessions(filter)
  const left = filter.limit - items.length
  return next && left > 0 ? [...items, ...(await readSessions(store, { ...filter, after: next, limit: left }))] : items
}

/** A session without messages in which events are waiting. */
async function findSessionOfEvents(
  store: Store,
  key: string,
  defaultAgentId: string,
): Promise<StoredSession | undefined> {
  const [event] = await store.listWaitingEvents(key, { count: 1, characters: 1 })
  return event && { key, agentId: agentOfKey(key) ?? defaultAgentId, updatedAt: event.at }
}

const summarize = ({ key, agentId, updatedAt }: StoredSession): SessionSummary => ({
  key,
  agentId,
  updatedAt: new Date(updatedAt).toISOString(),
})

async function readStatus(store: Store, session: StoredSession): Promise<SessionStatus> {
  const [counts, [last]] = await Promise.all([store.getSessionCounts(session.key), store.listRoutes(session.key)])
  return {
    ...summarize(session),
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
