// A transaction on a PostgreSQL connection: translates placeholders, and has each statement prepared once.
import { hash } from 'node:crypto'
import type { ClientBase, QueryResult } from 'pg'
import {
  type Insertion,
  oneOfEach,
  type Reader,
  type Row,
  settleAll,
  toStatement,
  type Transaction,
  type Value,
} from '../transaction.ts'
import { encodeArray, toStorable } from './array.ts'

export interface PostgresTransaction extends Transaction {
  /** Commits. It may be called while statements are under way, which saves a round trip; none may follow. */
  commit(): Promise<void>
  /** Commits, and sends the statements of `read` with the COMMIT. They hold none of the transaction's locks. */
  commitAndRead<Result>(read: (tx: Reader) => Promise<Result>): Promise<Result>
}

/**
 * Returns a statement in PostgreSQL's syntax. Its name lets a connection prepare it once, and is a hash of its text: a
 * connection that others have used before can hold no other statement of this name.
 */
export type Translate = (statement: string | Insertion) => { name: string; text: string }

export function createTranslation(): Translate {
  const known = new Map<string | Insertion, ReturnType<Translate>>()
  return (statement) => {
    const found = known.get(statement)
    if (found) return found
    const sql = typeof statement === 'string' ? statement : toInsertSql(statement)
    let placeholders = 0
    const text = sql.replaceAll('?', () => `$${++placeholders}`)
    const translated = { name: hash('sha256', text, 'hex').slice(0, 32), text }
    known.set(statement, translated)
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
  let committed: Promise<unknown> | undefined

  async function send(statement: string | Insertion, values: Parameter[]): Promise<QueryResult> {
    const storable = values.map(toStorable)
    try {
      return await client.query({ ...translate(statement), values: storable })
    } catch (error) {
      // The statements behind the first one that fails only report that there was one.
      throw (failure ??= error as Error)
    } finally {
      // What the driver was given stays alive until a full garbage collection, which so many buffers would soon cause.
      storable.length = 0
    }
  }

  async function query(statement: string | Insertion, values: Parameter[]): Promise<QueryResult> {
    if (committed) throw new TypeError('A statement was given after COMMIT.')
    return await send(statement, values)
  }

  /** Rows of `atEnd`. */
  const last = new Map<Insertion, Row[]>()

  const insertRows = (insertion: Insertion, rows: readonly Row[], values: readonly Value[] = []) => {
    const columns = Object.values(insertion.columns).map((type, index) =>
      encodeArray(
        rows.map((row) => row[index] ?? null),
        type,
      ),
    )
    return query(insertion, [...columns, ...values])
  }

  async function sendCommit<Result>(read: (tx: Reader) => Promise<Result>): Promise<Result> {
    const byTable = [...last].toSorted(([a], [b]) => (a.table < b.table ? 1 : -1))
    const inserted = byTable.map(([insertion, rows]) =>
      insertRows(insertion, inOrder(oneOfEach(rows, insertion), insertion)),
    )
    const answer = client.query('COMMIT')
    const result = read({
      all: async <Found>(sql: string, ...values: Value[]) => (await send(sql, values)).rows as Found[],
    })
    onCommitSent()
    const [{ command }, found] = await settleAll([answer, result, ...inserted])
    if (command !== 'COMMIT') throw failure ?? new Error('PostgreSQL rolled the transaction back.')
    return found
  }

  return {
    all: async <Found>(sql: string, ...values: Value[]) => (await query(sql, values)).rows as Found[],
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
    insert: async <Returned>(insertion: Insertion, rows: readonly Row[], ...values: Value[]) => {
      if (rows.length === 0) return []
      if (!insertion.atEnd) return (await insertRows(insertion, rows, values)).rows as Returned[]
      if (committed) throw new TypeError('Rows were given after COMMIT.')
      last.set(insertion, [...(last.get(insertion) ?? []), ...rows])
      return []
    },
    commit: async () => void (await (committed ??= sendCommit(async () => undefined))),
    commitAndRead: (read) => {
      const result = sendCommit(read)
      committed = result
      return result
    },
    getSpace: async () => (await client.query<{ bytes: number; free: number }>(spaceSql)).rows[0] ?? noSpace,
    // PostgreSQL vacuums its tables by itself.
    reclaimSpace() {},
  }
}

/** By their key, whose columns are never NULL. */
const inOrder = (rows: readonly Row[], { keyColumns = 0 }: Insertion): Row[] =>
  rows.toSorted((a, b) => {
    for (let column = 0; column < keyColumns; column++) {
      const [one, other] = [a[column], b[column]] as [string | number, string | number]
      if (one !== other) return one < other ? -1 : 1
    }
    return 0
  })

/** A column of several rows is an array in binary format. */
type Parameter = Value | Buffer

const arrayTypes = { text: 'text[]', integer: 'bigint[]' } as const

/** One array for each column, so that one statement inserts any number of rows. */
function toInsertSql(insertion: Insertion): string {
  const { columns, condition } = insertion
  const arrays = Object.values(columns).map((type) => `?::${arrayTypes[type]}`)
  const where = condition === undefined ? '' : `WHERE ${condition}`
  return toStatement(insertion, `SELECT * FROM unnest(${arrays.join(', ')}) ${where}`)
}

const noSpace = { bytes: 0, free: 0 }

/** Space that PostgreSQL will use again counts as used: it does not know how much that is. */
const spaceSql = `
  SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes, 0 AS free FROM pg_class
  WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'migration'::regclass)`
