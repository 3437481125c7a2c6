// Model servers: their configuration, and the prompts that they received.
import { type Document } from '../helpers.ts'
import { closeAtEnd } from '../share.ts'
import { startAnthropic } from './anthropic.ts'
import { startGoogle } from './google.ts'
import { startOpenAiChat, startOpenAiResponses } from './openai.ts'
import type { Wire, WireRequest } from './wire.ts'

export interface ModelServer extends Omit<Wire, 'close'> {
  /** The `providers` section for this server. */
  providers: Document
  /** Resolves with the last message of the request of this number (from 0) when it has arrived. */
  prompt(index: number): Promise<string>
}

/** Starts the model `double/m`. It is closed when the test ends, which fails if a request was not scripted. */
export async function startModel(): Promise<ModelServer> {
  const wire = await startOpenAiChat()
  closeAtEnd(() => wire.close())
  return {
    ...wire,
    providers: { double: { kind: 'openai-compatible', baseUrl: `${wire.url}/v1` } },
    prompt: async (index) => messagesOf(await wire.request(index)).at(-1)!.content,
  }
}

const dialects = {
  chat: { start: startOpenAiChat, kind: 'openai-compatible', path: '/v1', modelId: 'm' },
  messages: { start: startAnthropic, kind: 'anthropic', path: '/v1', modelId: 'claude-opus-4-6' },
  responses: { start: startOpenAiResponses, kind: 'openai', path: '/v1', modelId: 'gpt-5.2' },
  gemini: { start: startGoogle, kind: 'google', path: '/v1beta', modelId: 'gemini-2.5-flash' },
} as const

export type DialectName = keyof typeof dialects

export const dialectNames = Object.keys(dialects) as DialectName[]

/** Starts a model server of each dialect, with an agent of the same name. They are closed when the test ends. */
export async function startModels() {
  const servers = await Promise.all(
    dialectNames.map(async (name) => {
      const { start, kind, path, modelId } = dialects[name]
      const wire = await start()
      closeAtEnd(() => wire.close())
      return { name, wire, modelId, provider: { kind, baseUrl: `${wire.url}${path}`, apiKey: 'key-1' } }
    }),
  )
  return {
    wires: Object.fromEntries(servers.map(({ name, wire }) => [name, wire])) as Record<DialectName, Wire>,
    providers: Object.fromEntries(servers.map(({ name, provider }) => [name, provider])),
    agents: Object.fromEntries(servers.map(({ name, modelId }) => [name, { model: `${name}/${modelId}` }])),
  }
}

export const messagesOf = ({ body }: WireRequest) => body['messages'] as { role: string; content: string }[]

export const systemOf = (request: WireRequest): string =>
  messagesOf(request).find(({ role }) => role === 'system')!.content
