// Sessions: the list, and one with what waits in it and what was said.
import { GatewayError } from '../errors.ts'
import { failures } from '../http/failure.ts'
import { viewTranscript } from '../sessions/transcript.ts'
import type { SessionPosition, Store, StoredEvent, StoredRoute, StoredSession } from '../store/store.ts'
import { resolveSession, type SessionOwners } from '../tools/session.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { iso, limitOf, pageOf, pageQuery, pageQueryOf, pageRequest, Time } from './lists.ts'

interface SessionsDeps {
  store: Pick<
    Store,
    'listSessions' | 'getSession' | 'getLastRoute' | 'listWaitingEvents' | 'countWaitingEvents' | 'listTranscript'
  >
  agents: SessionOwners
}

/** The lines of a transcript that one answer shows where it is not asked for fewer. */
const usualLines = 200
/** The oldest waiting events that one answer shows. */
const shownEvents = { count: 200, characters: 256 * 1024 }

export function sessionEndpoints({ store, agents }: SessionsDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/sessions',
      schema: {
        summary: 'Lists sessions, the one that was used last first.',
        querystring: SessionsQuery,
        response: { 200: pageOf(Session) },
      },
      handle: async ({ query }) => {
        const filter = {
          agentId: query.agentId,
          defaultAgentId: agents.default.id,
          after: throwSiteOf(query.cursor),
          limit: limitOf(query),
        }
        const { items, next } = await store.listSessions(filter)
        return { items: items.map(viewSession), ...(next && { next: cursorOf(next) }) }
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/sessions/:key',
      schema: {
        summary: 'Shows what waits in a session, and what was said.',
        params: KeyParams,
        querystring: Type.Object(pageQueryOf(usualLines)),
        response: { 200: WholeSession, ...failures(404) },
      },
      handle: async ({ params, query }) => {
        const { agentId, sessionKey: key } = resolveSession(agents, params.key)
        const [stored, events, waitingEvents, route, { items, next }] = await Promise.all([
          store.getSession(key),
          store.listWaitingEvents(key, shownEvents),
          store.countWaitingEvents(key),
          store.getLastRoute(key),
          store.listTranscript(key, pageRequest(query, usualLines)),
        ])
        // News may wait in a session in which nothing has been said yet.
        const session = stored ?? firstEvent(events, { key, agentId })
        if (!session) throw new GatewayError('session_not_found')
        return {
          ...viewSession(session),
          ...(route && { lastRoute: viewRoute(route) }),
          events: events.map(({ id, text, mode, at }) => ({ id, text, mode, at: iso(at) })),
          waitingEvents,
          transcript: viewTranscript(items.toReversed()),
          ...(next !== undefined && { next: String(next) }),
        }
      },
    }),
  ]
}

const cursorOf = ({ updatedAt, run, key }: SessionPosition): string => `${updatedAt}.${run}.${key}`

function throwSiteOf(cursor: string | undefined): SessionPosition | undefined {
  const [, updatedAt, run, key = ''] = /^(\d+)\.(\d+)\.(.*)$/s.exec(cursor ?? '') ?? []
  return updatedAt === undefined ? undefined : { updatedAt: Number(updatedAt), run: Number(run), key }
}

const firstEvent = (
  [event]: readonly StoredEvent[],
  session: Pick<StoredSession, 'key' | 'agentId'>,
): StoredSession | undefined => event && { ...session, updatedAt: event.at }

const viewSession = ({ key, agentId, updatedAt }: StoredSession) => ({ key, agentId, updatedAt: iso(updatedAt) })

const viewRoute = ({ channel, to, accountId, threadId, at }: StoredRoute) => ({
  channel,
  to,
  accountId,
  ...(threadId !== null && { threadId }),
  at: iso(at),
})

const SessionsQuery = Type.Object({
  ...pageQuery,
  cursor: Type.Optional(
    Type.String({ pattern: String.raw`^\d{1,16}\.\d{1,16}\.`, description: 'The `next` of the page before.' }),
  ),
  agentId: Type.Optional(Type.String()),
})

const KeyParams = Type.Object({
  key: Type.String({
    description: '`agent:<agent>:<key>`; a key without its agent is the default agent’s; `main` is its main session.',
  }),
})

const session = { key: Type.String(), agentId: Type.String(), updatedAt: Time() }
const Session = Type.Object(session)

const Route = Type.Object(
  {
    channel: Type.String(),
    to: Type.String(),
    accountId: Type.String(),
    threadId: Type.Optional(Type.String()),
    at: Time(),
  },
  { description: 'Where its messages last came from.' },
)

const WholeSession = Type.Object({
  ...session,
  lastRoute: Type.Optional(Route),
  events: Type.Array(
    Type.Object({ id: Type.String(), text: Type.String(), mode: Type.Enum(['now', 'next-heartbeat']), at: Time() }),
    {
      description: `Events that no turn has rendered yet: the oldest ${shownEvents.count}, or fewer where they are long.`,
    },
  ),
  waitingEvents: Type.Integer({ description: 'How many events wait in all.' }),
  transcript: Type.Array(Type.Object({ role: Type.String(), text: Type.String(), at: Time(), runId: Type.String() }), {
    description: 'What was said, the newest lines, oldest first.',
  }),
  next: Type.Optional(
    Type.String({
      description: 'The `cursor` for the lines before these; absent at the beginning of the conversation.',
    }),
  ),
})
