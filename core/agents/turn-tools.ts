// An agent's tools as the model library wants them; every call goes the same way as one over HTTP.
import type * as Ai from 'ai'
import { GatewayError } from '../errors.ts'
import type { Json, Tool } from '../plugin.ts'

/** Longest result that a model gets to read, in characters of JSON. */
export const maxToolText = 100_000

type Call = (tool: string, args: unknown) => Promise<Json>

export function toolSet(ai: Pick<typeof Ai, 'jsonSchema' | 'tool'>, tools: readonly Tool[], call: Call): Ai.ToolSet {
  // No validation here: the call checks its arguments, and its sentence goes back to the model.
  const entries = tools.map(({ name, description, args }) => {
    return [
      name,
      ai.tool({
        description,
        inputSchema: ai.jsonSchema(args),
        execute: (given: unknown) => readable(call(name, given)),
      }),
    ] as const
  })
  return Object.fromEntries(entries)
}

/** What the model reads: a bounded result, or of an error only what a caller over HTTP would read. */
async function readable(result: Promise<Json>): Promise<Json> {
  try {
    return bounded(await result)
  } catch (error) {
    throw error instanceof GatewayError ? new Error(error.publicMessage) : error
  }
}

function bounded(result: Json): Json {
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  return text.length > maxToolText ? `${text.slice(0, maxToolText)}\n[cut: ${text.length} characters in all]` : result
}
