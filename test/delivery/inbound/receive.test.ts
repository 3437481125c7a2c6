// What a channel can rely on when it calls `receive`: it resolves when the message is stored, however long that takes.
import { describe, expect, it } from 'vitest'
import { createReceive } from '../../../core/delivery/inbound/receive.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { InboundMessage } from '../../../core/plugin/plugin.ts'
import { createTestContext } from '../../contracts/context.ts'
import { startChat } from '../../doubles/chat.ts'
import { startModel } from '../../doubles/model.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../../helpers.ts'

describe('a message that cannot be stored at the moment', () => {
  it('is stored later, though the channel called receive once, and its files are downloaded once', async () => {
    const { chat, logged, fill, free } = await startFull()
    await fill()
    const said = chat.say({ text: 'Last.', attachments: [{ name: 'a.txt', type: 'text/plain', content: 'fail' }] })
    await expect.poll(() => linesWith(logged, 'could not be stored; it is tried again')).toHaveLength(1)
    await free()
    expect(await said).toBe('accepted')
    expect(linesWith(logged, 'messages are stored again')).toHaveLength(1)
    expect(linesWith(logged, 'an attachment could not be stored')).toHaveLength(1)
  })

  it('does not keep the gateway from stopping', async () => {
    const { chat, gateway, logged, fill } = await startFull()
    await fill()
    const said = chat.say({ text: 'Last.' })
    await expect.poll(() => linesWith(logged, 'could not be stored; it is tried again')).toHaveLength(1)
    await gateway.close()
    expect(await said).toMatch(/^rejected: AbortError/)
  })
})

/** A gateway whose queue has room for one run. */
async function startFull() {
  const model = await startModel()
  model.otherwise({ hang: true })
  const chat = await startChat()
  const dir = temporaryFolder()
  const running = await startGateway(
    {
      agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m', maxConcurrent: 1 } },
      providers: model.providers,
      hooks: { maxQueuedRuns: 1 },
      gateway: { drainSeconds: 0 },
      ...chat.config(dir, { 'chat-native': { allowFrom: ['ann'] } }),
    },
    dir,
  )
  return {
    chat,
    ...running,
    /** One run is in progress, and one waits. */
    async fill() {
      expect(await chat.say({ text: 'First.' })).toBe('accepted')
      await model.request(0)
      expect(await chat.say({ text: 'Second.' })).toBe('accepted')
    },
    /** Ends the run that is in progress. */
    async free() {
      const { items } = (await running.get('/api/runs?status=running')).body
      await running.post(`/api/runs/${items[0].id}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })
    },
  }
}

const linesWith = (logged: readonly string[], text: string): string[] => logged.filter((line) => line.includes(text))

const away = new GatewayError('store_unavailable', 'The disk is full.')

const message = (id: string): InboundMessage => ({ id, from: { id: 'ann' }, to: 'ann', text: 'Hello.' })

function start(accept: (message: InboundMessage) => Promise<'accepted'>) {
  const { log, logged, signal, abort } = createTestContext()
  return { receive: createReceive({ accept, signal, fields: { channel: 'chat' }, log }), logged, abort }
}

describe('receive', () => {
  it('keeps the order of messages while they wait', async () => {
    const [stored, tried]: [string[], string[]] = [[], []]
    let isAway = true
    const { receive } = start(async ({ id }) => {
      tried.push(id)
      if (isAway) throw away
      stored.push(id)
      return 'accepted'
    })
    const first = ['1', '2'].map((id) => receive(message(id)))
    await expect.poll(() => tried.length).toBeGreaterThan(2)
    const later = ['3', '4'].map((id) => receive(message(id)))
    isAway = false
    expect(await Promise.all([...first, ...later])).toEqual(Array.from({ length: 4 }, () => 'accepted'))
    expect(stored).toEqual(['1', '2', '3', '4'])
  })

  it('logs an outage once, however many messages wait', async () => {
    let faults = 6
    const { receive, logged } = start(async () => {
      if (faults-- > 0) throw away
      return 'accepted'
    })
    await Promise.all(['1', '2', '3'].map((id) => receive(message(id))))
    expect(logged).toEqual([
      {
        level: 'warn',
        fields: { channel: 'chat', reason: 'The disk is full.' },
        message: 'a message could not be stored; it is tried again',
      },
      { level: 'info', fields: { channel: 'chat', failures: 6 }, message: 'messages are stored again' },
    ])
  })

  it('drops a message that fails again and again although the store is available, and goes on', async () => {
    const { receive, logged } = start(async ({ id }) => {
      if (id === 'odd') throw new RangeError('a text of somebody')
      return 'accepted'
    })
    const results = [receive(message('odd')), receive(message('next'))]
    expect(await Promise.all(results)).toEqual(['ignored', 'accepted'])
    const dropped = logged.filter(({ level }) => level === 'error')
    expect(dropped).toMatchObject([
      { fields: { channel: 'chat', reason: 'RangeError' }, message: expect.stringMatching(/^a message was dropped/) },
    ])
    expect(JSON.stringify(logged)).not.toContain('a text of somebody')
  })

  it('drops a message whose route is not JSON', async () => {
    const { receive, logged } = start(async () => 'accepted')
    const route: unknown[] = []
    route.push(route)
    for (const wrong of [route, () => 'x']) {
      expect(await receive({ ...message('1'), route: wrong as never })).toBe('ignored')
      expect(logged.at(-1)?.fields).toMatchObject({ reason: 'receive: route must be a value that JSON can hold.' })
    }
  })

  it('rejects a message that waits when the connection ends, but stores one that can be stored', async () => {
    let isAway = true
    const { receive, abort } = start(async () => {
      if (isAway) throw away
      return 'accepted'
    })
    const waiting = receive(message('1'))
    const behind = receive(message('2'))
    abort()
    await expect(waiting).rejects.toThrow('aborted')
    await expect(behind).rejects.toThrow('aborted')
    isAway = false
    expect(await receive(message('3'))).toBe('accepted')
  })

  it('ends with the signal of the call, and others wait on', async () => {
    let isAway = true
    const { receive } = start(async () => {
      if (isAway) throw away
      return 'accepted'
    })
    const late = new Error('the platform waits no longer')
    const request = new AbortController()
    const hasty = receive(message('1'), { signal: request.signal })
    const patient = receive(message('2'))
    request.abort(late)
    await expect(hasty).rejects.toBe(late)
    isAway = false
    expect(await patient).toBe('accepted')
  })
})
