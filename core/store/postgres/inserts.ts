// Inserts many rows with the statement that inserts one: each column becomes an array.
import type { Value } from '../transaction.ts'
import { encodeTextArray } from './text-array.ts'
import type { PostgresTransaction } from './transaction.ts'

/** A row for each list of values. */
export type Rows = readonly (readonly Value[])[]

export interface Insert {
  /** The number of columns in ON CONFLICT, which are the first ones of the statement; 0 without ON CONFLICT. */
  conflictColumns: number
  /** Inserts the rows in their order. @returns what the statement returns */
  insert<Returned>(tx: PostgresTransaction, rows: Rows): Promise<Returned[]>
}

/** Returns nothing for a statement that is no such insert. */
export type FindInsert = (sql: string) => Insert | undefined

/** An insert whose only placeholders are those of its row. */
const pattern = new RegExp(
  String.raw`^\s*INSERT INTO (?<table>\w+) \((?<columns>[^)]*)\)\s+VALUES \((?<row>[^()]*)\)` +
    String.raw`(?<end>\s+ON CONFLICT \((?<key>[^)]*)\)[^?]*)?$`,
)

/** `integerColumns` are all columns of integers, as `table.column`. */
export function createFindInsert(integerColumns: ReadonlySet<string>): FindInsert {
  const known = new Map<string, Insert | undefined>()
  return (sql) => {
    if (!known.has(sql)) known.set(sql, toInsert(pattern.exec(sql)?.groups, integerColumns))
    return known.get(sql)
  }
}

function toInsert(parts: Record<string, string> | undefined, integerColumns: ReadonlySet<string>): Insert | undefined {
  if (!parts) return undefined
  const { table = '', columns = '', row = '', end = '', key } = parts
  const names = splitList(columns)
  const arrays: string[] = []
  const selected = splitList(row).map((value, index) => {
    if (value !== '?') return value
    arrays.push(integerColumns.has(`${table}.${names[index]}`) ? '?::text[]::bigint[]' : '?::text[]')
    return `v${arrays.length}`
  })
  const aliases = arrays.map((_, index) => `v${index + 1}`).join(', ')
  const sql =
    `INSERT INTO ${table} (${columns}) SELECT ${selected.join(', ')} ` +
    `FROM unnest(${arrays.join(', ')}) AS given (${aliases})${end}`
  return {
    conflictColumns: key === undefined ? 0 : splitList(key).length,
    insert: (tx, rows) =>
      tx.all(sql, ...arrays.map((_, column) => encodeTextArray(rows.map((values) => values[column] ?? null)))),
  }
}

const splitList = (list: string): string[] => list.split(',').map((item) => item.trim())

/** Reads them from the tables of this store. */
export const integerColumnsSql = `
  SELECT relname || '.' || attname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE atttypid = 'bigint'::regtype AND attnum > 0
    AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'migration'::regclass)`
