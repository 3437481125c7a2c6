// Channel connections that are lost: they are closed and reconnected.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createConnections } from '../../core/delivery/connections.ts'
import { type Channel, type ChannelContext, type Log, Type } from '../../core/plugin.ts'
import { createTestContext } from '../contracts/context.ts'

function start({ isLostAtOnce = false } = {}) {
  vi.useFakeTimers()
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
      if (isLostAtOnce && number === 1) context.lost('the platform hung up')
      return { send: async () => ({ outcome: 'sent' }), close: async () => void closed.push(number) }
    },
  }
  const connections = createConnections({
    channels: new Map([['pager', channel]]),
    config: { pager: { enabled: true } },
    receive: async () => 'accepted',
    onConnected: () => undefined,
    state: () => createTestContext().state,
    log,
  })
  connections.open()
  return { connections, logged, contexts, closed }
}

const again = ['channel connected', 'channel lost; it connects again', 'channel connected']

describe('a lost connection', () => {
  it('is closed and reconnected', async () => {
    const { connections, logged, contexts, closed } = start()
    await vi.advanceTimersByTimeAsync(0)
    contexts[0]!.lost('the platform hung up')
    contexts[0]!.lost('once more')
    expect([connections.states()[0]!.state, connections.get('pager', 'default')!.connection]).toEqual([
      'failing',
      undefined,
    ])
    await vi.advanceTimersByTimeAsync(1_000)
    expect([connections.states()[0]!.state, closed, logged]).toEqual(['connected', [1], again])
    contexts[0]!.lost('too late')
    expect(connections.states()[0]!.state).toBe('connected')
    await connections.close()
  })

  it('is reconnected if it was lost while it connected', async () => {
    const { connections, logged, closed } = start({ isLostAtOnce: true })
    await vi.advanceTimersByTimeAsync(1_000)
    expect([connections.states()[0]!.state, closed, logged]).toEqual(['connected', [1], again.slice(1)])
    await connections.close()
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
