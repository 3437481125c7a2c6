// A double of the model server on a loopback address. It streams the same reply to every prompt.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export async function openModelServer() {
  const server = createServer((request, response) => {
    const isKnown = request.headers.authorization === 'Bearer the key'
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'text/event-stream' })
    if (isKnown) for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return {
    config: { baseUrl, apiKey: 'the key', models: ['large'] },
    modelId: 'large',
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const chunkOf = (delta: object, finish_reason: string | null = null) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'large',
  choices: [{ index: 0, delta, finish_reason }],
})

const chunks = [
  chunkOf({ role: 'assistant', content: 'Hello' }),
  chunkOf({ content: ' there.' }),
  chunkOf({}, 'stop'),
  { ...chunkOf({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
]
