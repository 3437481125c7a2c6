// Keeps the digits of integers beyond 2^53 in the results of MCP tools. The library reads messages with numbers, so such
// an integer passes it as a marked text.
import { fieldsOf, parseJson } from 'svc-gateway/kit'

const mark = '\u{E000}integer:'

/** Marks the integers in the structured content of a message. */
export function markIntegers(message: string): string {
  if (!/\d{16}/.test(message) || !message.includes('"structuredContent"')) return message
  const parsed = fieldsOf(parseJson('The message', message))
  const result = fieldsOf(parsed['result'])
  const structuredContent = mapLeaves(result['structuredContent'], (value) =>
    typeof value === 'bigint' ? `${mark}${value}` : value,
  )
  return structuredContent === undefined
    ? message
    : JSON.stringify({ ...parsed, result: { ...result, structuredContent } })
}

/** The structured content of a result, with its integers. */
export const restoreIntegers = (structuredContent: unknown): unknown => mapLeaves(structuredContent, restore)

function restore(value: unknown): unknown {
  const digits = typeof value === 'string' && value.startsWith(mark) ? value.slice(mark.length) : ''
  return /^-?\d{1,400}$/.test(digits) ? BigInt(digits) : value
}

function mapLeaves(value: unknown, change: (leaf: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, change))
  if (typeof value !== 'object' || value === null) return change(value)
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, mapLeaves(field, change)]))
}

/** Does the same to the body of a response, which is one message, or a stream of events. */
export async function markIntegersIn(response: Response, isStream: boolean): Promise<Response> {
  if (!isStream) return new Response(markSafely(await response.text()), response)
  const { body } = response
  const lines = body?.pipeThrough(new TextDecoderStream()).pipeThrough(markLines()).pipeThrough(new TextEncoderStream())
  return new Response(lines ?? null, response)
}

/** A message has its data in one line: JSON needs no more. */
function markLines(): TransformStream<string, string> {
  let rest = ''
  return new TransformStream({
    transform(text, controller) {
      const end = text.lastIndexOf('\n') + 1
      if (end === 0) rest += text
      else {
        controller.enqueue(
          (rest + text.slice(0, end)).replaceAll(/^data:(.*)$/gm, (_line, data: string) => `data:${markSafely(data)}`),
        )
        rest = text.slice(end)
      }
    },
    flush: (controller) => controller.enqueue(rest),
  })
}

/** The library reports a message that is not JSON. */
function markSafely(message: string): string {
  try {
    return markIntegers(message)
  } catch {
    return message
  }
}
