// A model server behind the gateway's usual provider: what to put into the configuration, and what the model got to
// read.
import { onTestFinished } from 'vitest'
import { type Document } from '../helpers.ts'
import { startOpenAiChat } from './openai.ts'
import type { Wire, WireRequest } from './wire.ts'

export interface ModelServer extends Omit<Wire, 'close'> {
  /** The section `providers` that reaches it. */
  providers: Document
  /** The last message that the request of this number asks to be answered; resolves when it has come. */
  prompt(index: number): Promise<string>
}

/** The model `double/m`; closed when the test ends, which fails when a request came that was not scripted. */
export async function startModel(): Promise<ModelServer> {
  const wire = await startOpenAiChat()
  onTestFinished(() => wire.close())
  return {
    ...wire,
    providers: { double: { kind: 'openai-compatible', baseUrl: `${wire.url}/v1` } },
    prompt: async (index) => messagesOf(await wire.request(index)).at(-1)!.content,
  }
}

export const messagesOf = ({ body }: WireRequest) => body['messages'] as { role: string; content: string }[]

export const systemOf = (request: WireRequest): string =>
  messagesOf(request).find(({ role }) => role === 'system')!.content
