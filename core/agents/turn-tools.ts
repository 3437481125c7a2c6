// Converts an agent's tools into the model library's format. Calls take the same path as calls over HTTP.
import type * as Ai from 'ai'
import { GatewayError } from '../errors.ts'
import type { Json, Tool } from '../plugin/plugin.ts'
import { describeBinaryContent } from './binary-content.ts'

/** The maximum length of a result that a model reads, in characters of JSON. */
export const maxResultLength = 100_000

type CallTool = (tool: string, args: unknown) => Promise<Json>

export function createToolSet(
  ai: Pick<typeof Ai, 'jsonSchema' | 'tool'>,
  tools: readonly Tool[],
  call: CallTool,
): Ai.ToolSet {
  // No validation here: `call` checks the arguments, and the model reads its error.
  const entries = tools.map(({ name, description, args }) => {
    return [
      name,
      ai.tool({
        description,
        inputSchema: ai.jsonSchema(args),
        execute: (given: unknown) => createReadableResult(call(name, given)),
      }),
    ] as const
  })
  return Object.fromEntries(entries)
}

/** Describes binary content, limits the result, and reduces an error to what an HTTP caller would read. */
async function createReadableResult(result: Promise<Json>): Promise<Json> {
  try {
    return limitResult(describeBinaryContent(await result))
  } catch (error) {
    throw error instanceof GatewayError ? new Error(error.publicMessage) : error
  }
}

function limitResult(result: Json): Json {
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  return text.length > maxResultLength
    ? `${text.slice(0, maxResultLength)}\n[cut: ${text.length} characters in all]`
    : result
}
