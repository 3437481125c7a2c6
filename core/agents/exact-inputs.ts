// Keeps the arguments of tool calls as the model wrote them: the model library would round an integer beyond 2^53.
import type { LanguageModelMiddleware } from 'ai'
import { holdsBigInt, readJson } from '../json.ts'

export interface ExactInputs {
  middleware: LanguageModelMiddleware
  /** Replaces the arguments of a call that holds such an integer. */
  restore<Call extends { toolCallId: string; input: unknown }>(call: Call): Call
}

export function createExactInputs(): ExactInputs {
  const inputs = new Map<string, unknown>()
  return {
    middleware: {
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream()
        const watched = new TransformStream<StreamPart, StreamPart>({
          transform(part, controller) {
            if (part.type === 'tool-call') note(part)
            controller.enqueue(part)
          },
        })
        return { ...rest, stream: stream.pipeThrough(watched) }
      },
    },
    restore: (call) => (inputs.has(call.toolCallId) ? { ...call, input: inputs.get(call.toolCallId) } : call),
  }

  function note({ toolCallId, input }: { toolCallId: string; input: string }): void {
    try {
      const exact = readJson(input)
      if (holdsBigInt(exact)) inputs.set(toolCallId, exact)
    } catch {
      // The library reports a call whose arguments are not JSON.
    }
  }
}

type WrapStream = NonNullable<LanguageModelMiddleware['wrapStream']>
type StreamPart = Awaited<ReturnType<WrapStream>>['stream'] extends ReadableStream<infer Part> ? Part : never
