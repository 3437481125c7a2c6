// Reads payloads of services: fields that may be absent, and words that choose from a table.
import { type TSchema, Type } from '../typebox.ts'

/** The schema of a field that a service may leave out or send as `null`. */
export const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))

/** Looks up an untrusted word in a table. Only own keys count, so `constructor` finds nothing. */
export const entryOf = <Value>(
  table: Readonly<Record<string, Value>>,
  word: string | null | undefined,
): Value | undefined => (typeof word === 'string' && Object.hasOwn(table, word) ? table[word] : undefined)
