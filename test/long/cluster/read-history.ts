// Reads the history of a cluster from its database and from the console's file.
import { readFile } from 'node:fs/promises'
import { query } from '../../postgres.ts'
import type { Message } from './history.ts'

/** A few of the runs and deliveries that have not ended. */
export async function listUnfinished(url: string): Promise<object[]> {
  return await query(
    url,
    `SELECT 'run' AS kind, status, session_key AS lane, owner, lease_until AS until, not_before AS due FROM run
    WHERE status IN ('queued', 'running')
    UNION ALL SELECT 'delivery', status, recipient, owner, lease_until, next_at FROM outbox
    WHERE status IN ('pending', 'sending')
    LIMIT 20`,
  )
}

/** A session's transcript grows in the order in which its runs end. */
export async function readSucceeded(url: string): Promise<Message[]> {
  const rows = await query(
    url,
    `SELECT run.message FROM run
    JOIN (SELECT run_id, min(seq) AS first FROM transcript GROUP BY run_id) AS ended ON ended.run_id = run.id
    WHERE run.status = 'succeeded' ORDER BY ended.first`,
  )
  return rows.flatMap(({ message }) => parse(String(message)))
}

export async function readReplies(file: string): Promise<Message[]> {
  return (await readFile(file, 'utf8')).split('\n').flatMap((line) => parse(line))
}

function parse(text: string): Message[] {
  const [, session, n] = /<(s\d+)-(\d+)>/.exec(text) ?? []
  return session === undefined ? [] : [{ session, n: Number(n) }]
}
