// Tests the log of repeated failures: two lines per outage, and the description of the cause.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Type } from 'svc-gateway/plugin'
import { createConnections } from '../core/delivery/connections/connections.ts'
import { describeError, GatewayError } from '../core/errors.ts'
import { createOutage } from '../core/outage.ts'
import { createPoller } from '../core/store/poller.ts'
import type { Channel } from '../core/plugin/plugin.ts'
import { createTestContext } from './contracts/context.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const away = () => new GatewayError('store_unavailable', 'The disk is full.')

describe('an outage', () => {
  it('is logged once for each cause, and when it ends', () => {
    const { log, logged } = createTestContext()
    const outage = createOutage(log, { failed: 'it fails', worked: 'it works' })
    expect(outage.worked()).toBe(false)
    for (const error of [away(), away(), new RangeError('a text of somebody'), away()]) outage.failed(error, { id: 1 })
    expect(outage.worked({ id: 2 })).toBe(true)
    expect(outage.worked()).toBe(false)
    expect(logged).toEqual([
      { level: 'error', fields: { id: 1, reason: 'The disk is full.' }, message: 'it fails' },
      { level: 'error', fields: { id: 1, reason: 'RangeError', at: expect.any(String) }, message: 'it fails' },
      { level: 'info', fields: { id: 2, failures: 4 }, message: 'it works' },
    ])
  })

  it('of the store leaves two log lines of the poller, however long it lasts', async () => {
    const { log, logged } = createTestContext()
    let tries = 0
    const claim = async (): Promise<void> => {
      if (++tries <= 30) throw away()
    }
    const poller = createPoller({ claim, retryMs: 1000, log })
    poller.notify()
    await vi.advanceTimersByTimeAsync(40_000)
    expect(tries).toBe(31)
    expect(logged.map(({ level, fields }) => [level, fields])).toEqual([
      ['error', { reason: 'The disk is full.' }],
      ['info', { failures: 30 }],
    ])
    await poller.close()
  })

  it('of a channel is logged once per cause, and ends with the connection', async () => {
    const { log, logged } = createTestContext()
    const faults = ['connect ECONNREFUSED', 'connect ECONNREFUSED', 'the token is wrong']
    const connect = async () => {
      const fault = faults.shift()
      if (fault !== undefined) throw new Error(fault)
      return { send: async () => ({ outcome: 'sent' }) as const, close: async () => undefined }
    }
    const channel: Channel<never> = {
      kind: 'channel',
      name: 'pager',
      description: '',
      config: Type.Object({}),
      target: Type.String(),
      limits: { maxText: 100, idempotency: 'none' } as const,
      connect,
    }
    const connections = createConnections({
      channels: new Map([['pager', channel]]),
      config: { pager: { enabled: true } },
      receive: async () => 'accepted',
      reportLateFailure: async () => undefined,
      moveGroup: async () => undefined,
      onConnected: () => undefined,
      state: () => createTestContext().state,
      findMissingPackages: () => undefined,
      redact: (text) => text,
      log,
    })
    connections.open()
    await vi.advanceTimersByTimeAsync(60_000)
    await connections.close()
    const account = { channel: 'pager', accountId: 'default' }
    expect(logged).toEqual([
      {
        level: 'warn',
        fields: { ...account, reason: 'Error: connect ECONNREFUSED', at: expect.any(String) },
        message: 'channel could not connect; it is tried again',
      },
      {
        level: 'warn',
        fields: { ...account, reason: 'Error: the token is wrong', at: expect.any(String) },
        message: 'channel could not connect; it is tried again',
      },
      { level: 'info', fields: { ...account, failures: 3 }, message: 'channel connected' },
      { level: 'info', fields: account, message: 'channel closed' },
    ])
  })
})

describe('the cause of a failure, in the log', () => {
  it.each([
    [away(), { reason: 'The disk is full.' }],
    [
      Object.assign(new Error('open "/home/ann/secret"'), { code: 'EACCES', syscall: 'open' }),
      { reason: 'open failed: EACCES' },
    ],
    [Object.assign(new Error('a text of somebody'), { code: 'ERR_STRANGE' }), { reason: 'ERR_STRANGE' }],
    ['a text of somebody', { reason: 'string' }],
    [undefined, { reason: 'undefined' }],
  ])('is the message of a GatewayError, a system error code, or the class: %o', (error, described) => {
    expect(describeError(error)).toEqual(described)
  })
})
