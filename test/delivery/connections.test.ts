// The connection of an account: its states, retries, losses, refused credentials and missing packages.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createConnections } from '../../core/delivery/connections/connections.ts'
import {
  AuthError,
  type Channel,
  type ChannelContext,
  type Connection,
  type Log,
  Type,
} from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts/context.ts'

type Connect = (context: ChannelContext, number: number) => Promise<Partial<Connection> | void>

/** Starts a channel whose `connect` gets the number of the call, beginning with 1. */
function start(connect: Connect = async () => undefined, changes: Partial<Channel<never>> = {}) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const [logged, contexts, closed]: [string[], ChannelContext[], number[]] = [[], [], []]
  const line = (_fields: object, message: string) => void logged.push(message)
  const log: Log = { debug: line, info: line, warn: line, error: line }
  const channel: Channel<never> = {
    kind: 'channel',
    name: 'pager',
    description: 'A pager.',
    config: Type.Object({}),
    target: Type.String({ description: 'Anybody.' }),
    limits: { maxText: 100, idempotency: 'none' },
    connect: async (_config, context) => {
      const number = contexts.push(context)
      const connection = await connect(context, number)
      return { send: async () => ({ outcome: 'sent' }), close: async () => void closed.push(number), ...connection }
    },
    ...changes,
  }
  const connections = createConnections({
    channels: new Map([['pager', channel]]),
    config: { pager: { enabled: true } },
    receive: async () => 'accepted',
    reportLateFailure: async () => undefined,
    moveGroup: async () => undefined,
    onConnected: () => undefined,
    state: () => createTestContext().state,
    findMissingPackages: ({ channel: { packages } }) => packages && 'needs the package pager; run: npm i pager',
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    log,
  })
  onTestFinished(() => connections.close())
  connections.open()
  const health = () => connections.states()[0]!
  return { connections, logged, contexts, closed, health }
}

const again = ['channel connected', 'channel lost; it connects again', 'channel connected']

describe('a lost connection', () => {
  it('is closed and reconnected', async () => {
    const { connections, logged, contexts, closed, health } = start()
    await vi.advanceTimersByTimeAsync(0)
    contexts[0]!.lost('the platform hung up')
    contexts[0]!.lost('once more')
    expect(health()).toMatchObject({ state: 'failing', reason: 'the platform hung up' })
    expect(connections.get('pager', 'default')!.connection).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1_000)
    expect([health().state, closed, logged]).toEqual(['connected', [1], again])
    contexts[0]!.lost('too late')
    expect(health().state).toBe('connected')
  })

  it('may be reported with the error that ended it', async () => {
    const { contexts, health } = start()
    await vi.advanceTimersByTimeAsync(0)
    contexts[0]!.lost(new TypeError('the feed ended', { cause: new Error('token hunter2 expired') }))
    expect(health()).toMatchObject({
      state: 'failing',
      reason: 'TypeError: the feed ended; Error: token [redacted] expired',
    })
  })

  it('ends what the lost connection has started', async () => {
    const { contexts } = start()
    await vi.advanceTimersByTimeAsync(0)
    contexts[0]!.lost('the platform hung up')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, false])
  })

  it('is reconnected if it was lost while it connected', async () => {
    const { health, logged, closed } = start(async (context, number) => {
      if (number === 1) context.lost('the platform hung up')
    })
    await vi.advanceTimersByTimeAsync(1_000)
    expect([health().state, closed, logged]).toEqual(['connected', [1], again.slice(1)])
  })

  it('is reconnected after longer and longer times if it is lost again and again', async () => {
    const { contexts } = start(async (context) => queueMicrotask(() => context.lost('no')))
    await vi.advanceTimersByTimeAsync(1_000 + 2_000 + 4_000 + 7_000)
    expect(contexts).toHaveLength(4)
  })

  it('stays closed after the gateway has stopped', async () => {
    const { connections, contexts } = start()
    await vi.advanceTimersByTimeAsync(0)
    contexts[0]!.lost('the platform hung up')
    await connections.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(contexts).toHaveLength(1)
  })
})

describe('refused credentials', () => {
  it('end the retries until the configuration changes', async () => {
    const { connections, contexts, logged, health } = start(async (_context, number) => {
      if (number === 1) throw new AuthError('The token hunter2 was revoked.')
    })
    await vi.advanceTimersByTimeAsync(600_000)
    expect(contexts).toHaveLength(1)
    expect(health()).toMatchObject({ state: 'unauthorized', reason: 'The token [redacted] was revoked.' })
    expect(logged).toEqual(['channel refused by its platform; it waits for another configuration'])
    await connections.update({ pager: { enabled: true, token: 'another' } })
    await vi.advanceTimersByTimeAsync(0)
    expect(health().state).toBe('connected')
  })

  it('ask for a login if the channel has one', async () => {
    const { contexts, closed, health } = start(undefined, { login: async function* () {} })
    await vi.advanceTimersByTimeAsync(0)
    contexts[0]!.lost(new AuthError('The device was unlinked.'))
    await vi.advanceTimersByTimeAsync(600_000)
    expect(health()).toMatchObject({ state: 'login_required', reason: 'The device was unlinked.' })
    expect([contexts.length, closed]).toEqual([1, [1]])
  })
})

describe('connect', () => {
  it('is given up after 60 seconds, and a connection that comes later is closed', async () => {
    const late = Promise.withResolvers<void>()
    const { contexts, closed, health } = start((_context, number) => (number === 1 ? late.promise : Promise.resolve()))
    await vi.advanceTimersByTimeAsync(59_999)
    expect([health().state, contexts[0]!.signal.aborted]).toEqual(['connecting', false])
    await vi.advanceTimersByTimeAsync(1)
    expect(health()).toMatchObject({ state: 'failing', reason: 'it did not connect within 60 seconds' })
    expect(contexts[0]!.signal.aborted).toBe(true)
    late.resolve()
    await vi.advanceTimersByTimeAsync(1_000)
    expect([health().state, closed]).toEqual(['connected', [1]])
  })

  it('reports the class, the message and the cause of an error', async () => {
    const { health } = start(() => Promise.reject(new TypeError('fetch failed', { cause: new Error('no hunter2') })))
    await vi.advanceTimersByTimeAsync(0)
    expect(health()).toMatchObject({ state: 'failing', reason: 'TypeError: fetch failed; Error: no [redacted]' })
  })

  it('is not called while a package is missing', async () => {
    const { contexts, health } = start(undefined, { packages: () => ({ pager: '1.0.0' }) })
    await vi.advanceTimersByTimeAsync(600_000)
    expect(contexts).toHaveLength(0)
    expect(health()).toMatchObject({ state: 'failing', reason: expect.stringContaining('run: npm i pager') })
  })

  it('keeps the time of the last change of state', async () => {
    const { health } = start(() => Promise.reject(new Error('no')))
    await vi.advanceTimersByTimeAsync(0)
    const { since } = health()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(health()).toMatchObject({ state: 'failing', since })
  })
})
