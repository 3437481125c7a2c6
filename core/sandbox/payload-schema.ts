// Reads the schema that a transform declares for its payload. It comes from a child and is not trusted.
import type { JsonSchema } from '../typebox.ts'

/**
 * The gateway shows the schema in its OpenAPI document and never validates with it: a malicious pattern could block its
 * only thread for hours.
 * @throws {Error} when the schema is no object, too large, too deep, or refers to another document
 */
export function readPayloadSchema(text: string): JsonSchema | undefined {
  if (text === '') return undefined
  if (text.length > maxLength) throw new Error(`the schema "payload" is larger than ${maxLength} characters`)
  const schema = JSON.parse(text) as unknown
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw new Error('"payload" must be a JSON Schema, such as Type.Object({ … })')
  assertSelfContained(schema, 0)
  return { ...schema }
}

const maxLength = 65_536
const maxDepth = 32

function assertSelfContained(node: object, depth: number): void {
  if (depth > maxDepth) throw new Error(`the schema "payload" is deeper than ${maxDepth} levels`)
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string' && !value.startsWith('#'))
      throw new Error('a $ref in the schema "payload" must begin with "#"')
    if (typeof value === 'object' && value !== null) assertSelfContained(value as object, depth + 1)
  }
}
