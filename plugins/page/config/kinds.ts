// Decides which control of the form a value gets.
import { choicesOf, entrySchemaOf, propertiesOf, type Schema, typesOf } from './schema.ts'

/** `other`: it is edited in the text. */
export type Kind = 'choice' | 'number' | 'text' | 'secret' | 'lines' | 'other'

/** An object with keys, of which there is nothing else that the value may be. */
export function isGroup(schema: Schema): boolean {
  const types = typesOf(schema)
  if (types.size !== 1 || !types.has('object') || schema.secret) return false
  return propertiesOf(schema, undefined).size > 0 || entrySchemaOf(schema, undefined) !== undefined
}

export function kindOf(schema: Schema): Kind {
  if (schema.secret) return 'secret'
  const types = typesOf(schema)
  const isOnly = (...allowed: readonly string[]): boolean =>
    types.size > 0 && [...types].every((type) => allowed.includes(type))
  if (choicesOf(schema).length > 0 && isOnly('string', 'boolean', 'number', 'integer')) return 'choice'
  if (isOnly('number', 'integer')) return 'number'
  if (isOnly('string', 'number', 'integer')) return 'text'
  return isOnly('array') && isPlainText(entrySchemaOf(schema, undefined)) ? 'lines' : 'other'
}

const isPlainText = (schema: Schema | undefined): boolean =>
  schema !== undefined && !schema.secret && [...typesOf(schema)].join() === 'string'
