// A transaction on a PostgreSQL connection: translates placeholders and has each statement prepared once.
import type { ClientBase } from 'pg'
import type { Transaction, Value } from '../transaction.ts'

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

export function createTransaction(client: ClientBase, translate: Translate): Transaction {
  const query = (sql: string, values: Value[]) => client.query({ ...translate(sql), values: values.map(toStorable) })
  return {
    all: async <Row>(sql: string, ...values: Value[]) => (await query(sql, values)).rows as Row[],
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
    getSpace: async () => (await client.query<{ bytes: number; free: number }>(spaceSql)).rows[0] ?? noSpace,
    // PostgreSQL vacuums its tables by itself.
    reclaimSpace() {},
  }
}

/** PostgreSQL cannot store NUL characters in texts. JSON contains them only escaped. */
const toStorable = (value: Value): Value =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value

const noSpace = { bytes: 0, free: 0 }

/** Space that PostgreSQL will use again counts as used: it does not know how much that is. */
const spaceSql = `
  SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes, 0 AS free FROM pg_class
  WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'migration'::regclass)`
