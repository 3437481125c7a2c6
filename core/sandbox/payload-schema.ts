// The schema that a transform declares for its payload, as it comes from a child: data of a stranger, until it is known
// to be small and closed.
import type { JsonSchema } from '../typebox.ts'

/**
 * It is shown in the OpenAPI document and never run here: a pattern in it could keep the gateway's only thread busy for
 * hours.
 */
export function readPayloadSchema(text: string): JsonSchema | undefined {
  if (text === '') return undefined
  if (text.length > maxLength) throw new Error(`the schema "payload" is larger than ${maxLength} characters`)
  const schema = JSON.parse(text) as unknown
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw new Error('"payload" must be a JSON Schema, such as Type.Object({ … })')
  examine(schema, 0)
  return { ...schema }
}

const maxLength = 65_536
const maxDepth = 32

function examine(node: object, depth: number): void {
  if (depth > maxDepth) throw new Error(`the schema "payload" is deeper than ${maxDepth} levels`)
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string' && !value.startsWith('#'))
      throw new Error('the schema "payload" may refer to itself only, with "#…"')
    if (typeof value === 'object' && value !== null) examine(value as object, depth + 1)
  }
}
