// A double of the model server on a loopback address. It gives the answer that the suite asks for.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ProviderAnswer } from 'svc-gateway/testing'

export async function openModelServer(answer: ProviderAnswer) {
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.authorization !== 'Bearer the key') return void response.writeHead(401).end()
    const { stream } = (await json(request)) as { stream?: boolean }
    if ('status' in answer) {
      const error = { error: { message: 'It cannot be done.' } }
      const headers = { 'content-type': 'application/json', 'retry-after': String(answer.retryAfterSeconds) }
      return void response.writeHead(answer.status, headers).end(JSON.stringify(error))
    }
    if (!stream) {
      response.setHeader('content-type', 'application/json')
      return void response.end(JSON.stringify(whole(answer)))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const chunk of chunks(answer)) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    if ('text' in answer && answer.breaks) response.write('', () => response.destroy())
    else if (!('text' in answer && answer.hangs)) response.end('data: [DONE]\n\n')
  }

  const server = createServer((request, response) => void serve(request, response))
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

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

const callOf = (tool: string, args: string) => ({
  id: 'call_1',
  type: 'function',
  function: { name: tool, arguments: args },
})

type Reply = Exclude<ProviderAnswer, { status: number }>

function whole(answer: Reply) {
  const isCall = 'tool' in answer
  const content = isCall ? { content: null, tool_calls: [callOf(answer.tool, answer.args)] } : { content: answer.text }
  const choice = { index: 0, message: { role: 'assistant', ...content }, finish_reason: isCall ? 'tool_calls' : 'stop' }
  return { id: 'c1', object: 'chat.completion', created: 0, model: 'large', choices: [choice], usage }
}

const chunkOf = (delta: object, finish_reason: string | null = null) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'large',
  choices: [{ index: 0, delta, finish_reason }],
})

function chunks(answer: Reply): object[] {
  if ('text' in answer && (answer.hangs || answer.breaks)) return [chunkOf({ role: 'assistant', content: answer.text })]
  const last = { ...chunkOf({}), choices: [], usage }
  if ('tool' in answer)
    return [
      chunkOf({ tool_calls: [{ index: 0, ...callOf(answer.tool, answer.args) }] }),
      chunkOf({}, 'tool_calls'),
      last,
    ]
  const half = Math.ceil(answer.text.length / 2)
  const parts = [answer.text.slice(0, half), answer.text.slice(half)]
  return [...parts.map((content) => chunkOf({ role: 'assistant', content })), chunkOf({}, 'stop'), last]
}
