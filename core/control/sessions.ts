// The endpoints that list sessions, show one with its events and its transcript, and delete one.
import { GatewayError } from '../errors.ts'
import { type Principal, reaches } from '../http/access.ts'
import { failures } from '../http/failure.ts'
import { viewTranscript } from '../sessions/transcript.ts'
import type { SessionPosition, Store, StoredEvent, StoredRoute, StoredSession } from '../store/store.ts'
import { locateSession, type SessionOwners } from '../tools/session.ts'
import { Type } from '../typebox.ts'
import { content, sessionKey as sealedKey } from './content.ts'
import { type CursorSeal, sealedPrefix } from './cursor.ts'
import { type Endpoint, endpoint, found } from './endpoint.ts'
import { iso, limitOf, pageOf, pageQuery, pageQueryOf, pageRequest, Time } from './lists.ts'

interface SessionsDeps {
  store: Pick<
    Store,
    | 'deleteSession'
    | 'listSessions'
    | 'getSession'
    | 'listRoutes'
    | 'listWaitingEvents'
    | 'countWaitingEvents'
    | 'listTranscript'
  >
  agents: SessionOwners
  cursors: CursorSeal
}

/** The default number of transcript lines in a response. */
const defaultLines = 200
/** The limits for the waiting events in a response. */
const eventLimits = { count: 200, characters: 256 * 1024 }

export function sessionEndpoints({ store, agents, cursors }: SessionsDeps): Endpoint[] {
  /** A page may end at a session of an agent, or with a key, that the client may not know. */
  const isSealed = ({ agents: limits, content: mayRead }: Principal): boolean => limits !== undefined || !mayRead
  const format = (position: SessionPosition, principal: Principal): string =>
    isSealed(principal) ? cursors.seal(formatCursor(position)) : formatCursor(position)
  const parse = (cursor: string | undefined, principal: Principal): SessionPosition | undefined =>
    parseCursor(cursor !== undefined && isSealed(principal) ? cursors.open(cursor) : cursor)

  /** Events may wait in a session that has no row yet. */
  const findSession = async (given: string, principal: Principal) => {
    const located = locateSession(agents, given)
    const { sessionKey } = located
    const stored = await store.getSession(sessionKey)
    const isKnown = stored !== undefined || (await store.countWaitingEvents(sessionKey)) > 0
    const isReached = [located, stored ?? located].every(({ agentId }) => reaches(principal, agentId))
    if (!isKnown || !isReached) throw new GatewayError('session_not_found')
    return { sessionKey, agentId: (stored ?? located).agentId }
  }

  return [
    endpoint({
      method: 'GET',
      path: '/api/sessions',
      access: { needs: 'read', scope: 'agents' },
      schema: {
        summary: 'Lists sessions, the most recently used first.',
        querystring: SessionsQuery,
        response: { 200: pageOf(Session) },
      },
      handle: async ({ query, principal }) => {
        const filter = {
          agentId: query.agentId,
          agents: principal.agents,
          defaultAgentId: agents.default.id,
          after: parse(query.cursor, principal),
          limit: limitOf(query),
        }
        const { items, next } = await store.listSessions(filter)
        return { items: items.map(viewSession), ...(next && { next: format(next, principal) }) }
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/sessions/:key',
      access: { needs: 'read', scope: 'agents' },
      schema: {
        summary: 'Returns a session with its waiting events and its transcript.',
        params: KeyParams,
        querystring: Type.Object(pageQueryOf(defaultLines)),
        response: { 200: WholeSession, ...failures(404) },
      },
      handle: async ({ params, query, principal }) => {
        const { agentId, sessionKey: key } = locateSession(agents, params.key)
        if (!reaches(principal, agentId)) throw new GatewayError('session_not_found')
        const [stored, events, waitingEvents, [route], { items, next }] = await Promise.all([
          store.getSession(key),
          store.listWaitingEvents(key, eventLimits),
          store.countWaitingEvents(key),
          store.listRoutes(key),
          store.listTranscript(key, pageRequest(query, defaultLines)),
        ])
        // Events may wait in a session that has no row yet.
        const session = found(stored ?? sessionOfEvent(events, { key, agentId }), 'session_not_found')
        if (!reaches(principal, session.agentId)) throw new GatewayError('session_not_found')
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
    endpoint({
      method: 'DELETE',
      path: '/api/sessions/:key',
      access: { needs: 'admin', scope: 'agents', action: 'session.delete' },
      schema: {
        summary: 'Deletes a session with its transcript, its waiting events and its runs.',
        params: KeyParams,
        response: { 200: Deleted, ...failures(404, 409) },
      },
      handle: async ({ params, principal, change }) => {
        const { agentId, sessionKey: key } = await findSession(params.key, principal)
        if ((await store.deleteSession(key, { at: Date.now(), audit: change(key, agentId) })) === 'deleted')
          return { ok: true, key }
        throw new GatewayError(
          'conflict',
          'Runs of this session are queued, running or waiting, or their replies are not sent yet; ' +
            'cancel them, or wait for their end.',
        )
      },
    }),
  ]
}

const formatCursor = ({ updatedAt, run, key }: SessionPosition): string => `${updatedAt}.${run}.${key}`

function parseCursor(cursor: string | undefined): SessionPosition | undefined {
  const [, updatedAt, run, key = ''] = /^(\d+)\.(\d+)\.(.*)$/s.exec(cursor ?? '') ?? []
  return updatedAt === undefined ? undefined : { updatedAt: Number(updatedAt), run: Number(run), key }
}

const sessionOfEvent = (
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
    Type.String({
      pattern: String.raw`^(\d{1,16}\.\d{1,16}\.|${sealedPrefix})`,
      description: 'The `next` of the previous page.',
    }),
  ),
  agentId: Type.Optional(Type.String()),
})

const KeyParams = Type.Object({
  key: Type.String({
    ...sealedKey,
    description:
      '`agent:<agent>:<key>`. A key without an agent is that of the default agent; `main` is its main session.',
  }),
})

const Deleted = Type.Object({ ok: Type.Literal(true), key: Type.String(sealedKey) })

const session = { key: Type.String(sealedKey), agentId: Type.String(), updatedAt: Time() }
const Session = Type.Object(session)

const Route = Type.Object(
  {
    channel: Type.String(),
    to: Type.String(),
    accountId: Type.String(),
    threadId: Type.Optional(Type.String()),
    at: Time(),
  },
  { description: 'The route of the last received message.' },
)

const WholeSession = Type.Object({
  ...session,
  lastRoute: Type.Optional(Route),
  events: Type.Array(
    Type.Object({
      id: Type.String(),
      text: Type.Optional(Type.String(content)),
      mode: Type.Enum(['now', 'next-heartbeat']),
      at: Time(),
    }),
    {
      description: `Events that no turn has rendered yet: the oldest ${eventLimits.count}, or fewer if they are long.`,
    },
  ),
  waitingEvents: Type.Integer({ description: 'The number of all waiting events.' }),
  transcript: Type.Array(
    Type.Object({
      role: Type.String(),
      text: Type.Optional(Type.String(content)),
      at: Time(),
      runId: Type.String(),
    }),
    { description: 'The newest lines of the transcript, oldest first.' },
  ),
  next: Type.Optional(
    Type.String({
      description: 'The `cursor` for the previous lines; absent at the start of the transcript.',
    }),
  ),
})
