// A model that obeys whatever its newest message tells it, as a model does that an injected text has won over.
import { messagesOf, type ModelServer, startModel } from './model.ts'
import type { Answer, WireRequest } from './wire.ts'

export interface Call {
  tool: string
  args: Record<string, unknown>
}

/**
 * What to write into a message, so that the model makes these calls: the steps one after the other, those of one step
 * side by side.
 */
export const orders = (...steps: readonly (readonly Call[])[]): string =>
  `[[orders ${Buffer.from(JSON.stringify(steps)).toString('base64')}]]`

/** What each call of the newest message was answered, in order; the reply of the model. */
export const answersIn = (reply: string): string[] => (reply.startsWith('[') ? (JSON.parse(reply) as string[]) : [])

/** The model `double/m`. Without orders it says OK. */
export async function startObedientModel(): Promise<ModelServer> {
  const model = await startModel()
  model.otherwise(obey)
  return model
}

function obey(request: WireRequest): Answer {
  const messages = messagesOf(request)
  const newest = messages.findLastIndex(({ role }) => role === 'user')
  const [, text] = /\[\[orders ([\w+/=]+)\]\]/.exec(messages[newest]!.content) ?? []
  if (text === undefined) return { text: 'OK.' }
  const since = messages.slice(newest + 1)
  const step = (JSON.parse(Buffer.from(text, 'base64').toString()) as Call[][])[
    since.filter(({ role }) => role === 'assistant').length
  ]
  return step
    ? { calls: step }
    : { text: JSON.stringify(since.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))) }
}
