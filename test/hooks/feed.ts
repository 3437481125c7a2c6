// A service that the job of a preset asks for the next event.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closeAtEnd } from '../share.ts'

export interface Feed {
  url: string
  /** The paths that the job has asked for. */
  asked: string[]
  /** Answers the job when it asks for the next event. */
  send(event: unknown, status?: number): void
}

export async function startFeed(): Promise<Feed> {
  const [waiting, events]: [ServerResponse[], { event: unknown; status: number }[]] = [[], []]
  const settle = (): void => {
    while (waiting.length > 0 && events.length > 0) {
      const { event, status } = events.shift()!
      waiting.shift()!.writeHead(status).end(JSON.stringify(event))
    }
  }
  const feed: Feed = {
    url: '',
    asked: [],
    send: (event, status = 200) => {
      events.push({ event, status })
      settle()
    },
  }
  const server = createServer(({ url = '' }, response) => {
    feed.asked.push(url)
    if (url !== '/next') {
      response.writeHead(200).end('{}')
      return
    }
    waiting.push(response)
    response.once('close', () => {
      if (waiting.includes(response)) waiting.splice(waiting.indexOf(response), 1)
    })
    settle()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeAtEnd(() => (server.closeAllConnections(), void server.close()))
  feed.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return feed
}

/** A preset whose job asks a feed for the next event, and accepts each one. */
export const feedPreset = `
import { AuthError, definePreset, Type } from 'svc-gateway/plugin'
export default definePreset({
  name: 'feed',
  description: 'A feed.',
  payload: Type.Object({ text: Type.String() }),
  mapping: { action: 'wake', wakeMode: 'next-heartbeat' },
  config: Type.Object({ url: Type.Optional(Type.String()) }),
  needsJob: ({ url }) => url !== undefined,
  toAction: ({ payload: { text } }) => (text === 'spam' ? null : { text }),
  async start({ url }, { accept, lost, signal, state }) {
    const ask = async (path) => {
      const response = await fetch(url + path, { signal })
      if (response.status === 401) throw new AuthError('The feed refuses the token.')
      return await response.json()
    }
    await ask('/hello/' + ((await state.get('last')) ?? 'none'))
    const run = async () => {
      while (true) {
        const { id, payload } = await ask('/next')
        const outcome = await accept(payload, { id })
        await state.set('last', id)
        await ask('/done/' + outcome)
      }
    }
    run().catch((error) => signal.aborted || lost(error))
    return { close: async () => undefined, onWebhook: () => void ask('/nudged') }
  },
})
`
