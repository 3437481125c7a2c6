// A transaction on a PostgreSQL connection: translates placeholders, and has each statement prepared once.
import type { ClientBase, QueryResult } from 'pg'
import type { Transaction, Value } from '../transaction.ts'
import { toStorable } from './text-array.ts'

/** A value may also be in PostgreSQL's binary format. */
export interface PostgresTransaction extends Transaction {
  all<Row>(sql: string, ...values: (Value | Buffer)[]): Promise<Row[]>
  /** Commits. It may be called while statements are under way, which saves a round trip; none may follow. */
  commit(): Promise<void>
}

/** Returns a statement in PostgreSQL's syntax. Its name lets a connection prepare it once. */
export type Translate = (sql: string) => { name: string; text: string }

export function createTranslation(): Translate {
  const known = new Map<string, ReturnType<Translate>>()
  return (sql) => {
    const found = known.get(sql)
    if (found) return found
    let placeholders = 0
    const translated = { name: `s${known.size}`, text: sql.replaceAll('?', () => `$${++placeholders}`) }
    known.set(sql, translated)
    return translated
  }
}

/** `onCommitSent` is called when all statements of the transaction are on their way. */
export function createTransaction(
  client: ClientBase,
  translate: Translate,
  onCommitSent: () => void = () => undefined,
): PostgresTransaction {
  let failure: Error | undefined
  let committed: Promise<void> | undefined

  async function query(sql: string, values: (Value | Buffer)[]): Promise<QueryResult> {
    if (committed) throw new TypeError('A statement was given after COMMIT.')
    const storable = values.map((value) => (typeof value === 'string' ? toStorable(value) : value))
    try {
      return await client.query({ ...translate(sql), values: storable })
    } catch (error) {
      // The statements behind the first one that fails only report that there was one.
      throw (failure ??= error as Error)
    } finally {
      // What the driver was given stays alive until a full garbage collection, which so many buffers would soon cause.
      storable.length = 0
    }
  }

  async function sendCommit(): Promise<void> {
    const answer = client.query('COMMIT')
    onCommitSent()
    const { command } = await answer
    if (command !== 'COMMIT') throw failure ?? new Error('PostgreSQL rolled the transaction back.')
  }

  return {
    all: async <Row>(sql: string, ...values: (Value | Buffer)[]) => (await query(sql, values)).rows as Row[],
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
    commit: () => (committed ??= sendCommit()),
    getSpace: async () => (await client.query<{ bytes: number; free: number }>(spaceSql)).rows[0] ?? noSpace,
    // PostgreSQL vacuums its tables by itself.
    reclaimSpace() {},
  }
}

const noSpace = { bytes: 0, free: 0 }

/** Space that PostgreSQL will use again counts as used: it does not know how much that is. */
const spaceSql = `
  SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes, 0 AS free FROM pg_class
  WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'migration'::regclass)`
