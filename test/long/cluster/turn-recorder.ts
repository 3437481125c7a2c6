// A model server that records when each turn started and ended. It answers slowly enough for turns to be interrupted.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Turn } from './history.ts'

export interface TurnRecorder {
  /** The `providers` section for the model `double/m`. */
  providers: Record<string, unknown>
  turns: Turn[]
  close(): void
}

const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' }

/** `thinkMs` returns how long the next turn takes. The reply to a message that contains `<s1-2>` is `reply <s1-2>`. */
export async function startTurnRecorder(thinkMs: () => number): Promise<TurnRecorder> {
  const turns: Turn[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const startedAt = performance.now()
      const { messages } = (await json(request)) as { messages: { content: unknown }[] }
      const [name = '', session = '', n = ''] = /<(s\d+)-(\d+)>/.exec(JSON.stringify(messages.at(-1)?.content)) ?? []
      const turn = { session, n: Number(n), startedAt, endedAt: Infinity }
      turns.push(turn)
      // A gateway that dies during the turn closes the connection.
      response.once('close', () => (turn.endedAt = Math.min(turn.endedAt, performance.now())))
      await delay(thinkMs())
      turn.endedAt = Math.min(turn.endedAt, performance.now())
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const choice of [{ delta: { content: `reply ${name}` } }, { delta: {}, finish_reason: 'stop' }])
        response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, ...choice }] })}\n\n`)
      response.end('data: [DONE]\n\n')
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    providers: { double: { kind: 'openai-compatible', baseUrl: `http://127.0.0.1:${port}/v1` } },
    turns,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
