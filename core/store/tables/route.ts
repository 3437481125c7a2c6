// Routes: where the messages of a session came from, the newest on each channel.
import { readJson } from '../../json.ts'
import type { Json } from '../../plugin/plugin.ts'
import type { MessageSender } from '../provenance.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'

export const routeReads = { listRoutes }

export interface NewRoute {
  channel: string
  accountId: string
  to: string
  threadId: string | null
  route: Json
}

/** A route that a message has set. */
export interface SenderRoute extends NewRoute {
  /** Who wrote the message. Absent: it was not recorded. */
  sender?: MessageSender | undefined
}

export interface StoredRoute extends SenderRoute {
  at: Timestamp
}

/** Of two concurrent accepts, the later one wins, whichever is written first. */
export const routeInsertion: Insertion = {
  table: 'route',
  columns: {
    session_key: 'text',
    channel: 'text',
    account_id: 'text',
    recipient: 'text',
    thread_id: 'text',
    route: 'text',
    at: 'integer',
    sender: 'text',
  },
  onConflict: `
    ON CONFLICT (session_key, channel) DO UPDATE SET
      account_id = excluded.account_id, recipient = excluded.recipient, thread_id = excluded.thread_id,
      route = excluded.route, at = excluded.at, sender = excluded.sender
    WHERE excluded.at >= route.at`,
  keyColumns: 2,
}

export function toRouteRow(route: SenderRoute & { sessionKey: string }, at: Timestamp): Row {
  const { sessionKey, channel, accountId, to, threadId, sender } = route
  const writer = sender === undefined ? null : JSON.stringify(sender)
  return [sessionKey, channel, accountId, to, threadId, JSON.stringify(route.route), at, writer]
}

const listSql = `
  SELECT channel, account_id AS "accountId", recipient AS "to", thread_id AS "threadId", route, at, sender
  FROM route WHERE session_key = ? ORDER BY at DESC`

type RouteRow = Omit<StoredRoute, 'route' | 'sender'> & { route: string; sender: string | null }

/** The routes of a session, the newest first: at most one on each channel. */
export async function listRoutes(tx: Transaction, sessionKey: string): Promise<StoredRoute[]> {
  return (await tx.all<RouteRow>(listSql, sessionKey)).map(toRoute)
}

const toRoute = ({ channel, accountId, to, threadId, route, at, sender }: RouteRow): StoredRoute => {
  const common = { channel, accountId, to, threadId, route: readJson(route) as Json, at }
  return sender === null ? common : { ...common, sender: JSON.parse(sender) as MessageSender }
}
