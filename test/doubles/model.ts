// A model server for the openai-compatible provider: its configuration, and the prompts that it received.
import { type Document } from '../helpers.ts'
import { closeAtEnd } from '../share.ts'
import { startOpenAiChat } from './openai.ts'
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

export const messagesOf = ({ body }: WireRequest) => body['messages'] as { role: string; content: string }[]

export const systemOf = (request: WireRequest): string =>
  messagesOf(request).find(({ role }) => role === 'system')!.content
