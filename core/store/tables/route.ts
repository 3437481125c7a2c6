// Routes: where the messages of a session came from, the newest on each channel.
import { readJson } from '../../json.ts'
import type { Json } from '../../plugin/plugin.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'

export const routeReads = { getLastRoute }

export interface NewRoute {
  channel: string
  accountId: string
  to: string
  threadId: string | null
  route: Json
}

export interface StoredRoute extends NewRoute {
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
  },
  onConflict: `
    ON CONFLICT (session_key, channel) DO UPDATE SET
      account_id = excluded.account_id, recipient = excluded.recipient, thread_id = excluded.thread_id,
      route = excluded.route, at = excluded.at
    WHERE excluded.at >= route.at`,
  keyColumns: 2,
}

export function toRouteRow(route: NewRoute & { sessionKey: string }, at: Timestamp): Row {
  const { sessionKey, channel, accountId, to, threadId } = route
  return [sessionKey, channel, accountId, to, threadId, JSON.stringify(route.route), at]
}

const routeColumns = 'channel, account_id AS "accountId", recipient AS "to", thread_id AS "threadId", route, at'
const lastRouteSql = `SELECT ${routeColumns} FROM route WHERE session_key = ? ORDER BY at DESC LIMIT 1`
const routeOnChannelSql = `SELECT ${routeColumns} FROM route WHERE session_key = ? AND channel = ?`

/** The newest route of a session, or its newest route on one channel. */
export async function getLastRoute(
  tx: Transaction,
  sessionKey: string,
  channel?: string,
): Promise<StoredRoute | undefined> {
  type Row = Omit<StoredRoute, 'route'> & { route: string }
  const [row] =
    channel === undefined
      ? await tx.all<Row>(lastRouteSql, sessionKey)
      : await tx.all<Row>(routeOnChannelSql, sessionKey, channel)
  return row && { ...row, route: readJson(row.route) as Json }
}
