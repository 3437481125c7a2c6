// A model that follows any instruction in its newest message, like a model after a prompt injection.
import { messagesOf, type ModelServer, startModel } from './model.ts'
import type { Answer, WireRequest } from './wire.ts'

export interface Call {
  tool: string
  args: Record<string, unknown>
}

/** Renders the text that makes the model call these tools: the steps in sequence, the calls of a step in parallel. */
export const orders = (...steps: readonly (readonly Call[])[]): string =>
  `[[orders ${Buffer.from(JSON.stringify(steps)).toString('base64')}]]`

/** The reply of the model: the results of the newest message's calls, in order. */
export const answersIn = (reply: string): string[] => (reply.startsWith('[') ? (JSON.parse(reply) as string[]) : [])

/** Starts the model `double/m`. Without instructions it replies OK. */
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

/**
 * Starts the model `double/m` that follows every instruction that it can see, wherever it stands: in old messages, in
 * results of tools, in the descriptions of tools. It makes one call in each step, and replies with all results.
 * @param options `repeats`: it replies with the instructions instead, so that whoever reads the reply follows them, too
 */
export async function startGullibleModel({ repeats = false } = {}): Promise<ModelServer> {
  const model = await startModel()
  model.otherwise((request) => obeyAll(request, repeats))
  return model
}

function obeyAll({ body }: WireRequest, repeats: boolean): Answer {
  const messages = body['messages'] as { role: string; content: unknown }[]
  const newest = messages.findLastIndex(({ role }) => role === 'user')
  const since = messages.slice(newest + 1)
  const read = JSON.stringify([messages, body['tools'] ?? []])
  const codes = new Set([...read.matchAll(/\[\[orders ([\w+/=]+)\]\]/g)].map(([, code]) => code as string))
  const calls = [...codes].flatMap((code) => (JSON.parse(Buffer.from(code, 'base64').toString()) as Call[][]).flat())
  const made = since.filter(({ role }) => role === 'assistant').length
  const call = calls[made]
  if (call) return call
  if (repeats) return { text: `OK. ${orders(calls)}` }
  return { text: JSON.stringify(since.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))) }
}
