// A request whose runs have failed for good releases its keys, so that the next attempt of its sender runs.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { type Answer, type Document, gatewayToken, startGateway } from '../helpers.ts'

const wait = { prefer: 'wait=20' }
const operator = { authorization: `Bearer ${gatewayToken}` }
const run = { message: 'the disk is full', deliver: false, wakeMode: 'next-heartbeat' }
const key = { 'idempotency-key': 'k' }
const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

async function start(answers: ModelAnswer[], { hooks = {}, ...defaults }: { hooks?: Document } & Document = {}) {
  const model = await startModel()
  model.script(...answers)
  const agents = { defaults: { model: 'double/m', maxConcurrent: 1, heartbeat: { every: '0' }, ...defaults } }
  return { model, ...(await startGateway({ providers: model.providers, agents, hooks })) }
}

describe('a request whose run has failed', () => {
  it.each<[string, ModelAnswer, object]>([
    ['failed', { status: 400 }, {}],
    ['timed_out', { hang: true }, { timeoutSeconds: 0.2 }],
  ])('runs again when the sender retries: %s', async (status, answer, fields) => {
    const { post } = await start([answer, { text: 'done' }])
    const first = await post('/hooks/agent', { ...run, ...fields }, { ...key, ...wait })
    expect(first.body.status).toBe(status)
    const second = await post('/hooks/agent', { ...run, ...fields }, { ...key, ...wait })
    expect([second.body.status, isReplay(second)]).toEqual(['succeeded', false])
    const third = await post('/hooks/agent', { ...run, ...fields }, { ...key, ...wait })
    expect([third.body, isReplay(third)]).toEqual([second.body, true])
  })

  it('accepts its key with another body', async () => {
    const { post } = await start([{ status: 400 }, { text: 'done' }])
    await post('/hooks/agent', run, { ...key, ...wait })
    expect((await post('/hooks/agent', { ...run, message: 'another' }, { ...key, ...wait })).body.status).toBe(
      'succeeded',
    )
  })

  it('does not run again while it is being retried or after it was cancelled', async () => {
    const failing = Array.from({ length: 3 }, () => ({ status: 500, headers: { 'retry-after-ms': '1' } }))
    const { post, get } = await start(failing, { retry: { initialDelaySeconds: 60, maxDelaySeconds: 60 } })
    const first = await post('/hooks/agent', run, key)
    await expect.poll(async () => (await get(`/runs/${first.body.runId}`)).body.nextAttemptAt).toBeDefined()
    const second = await post('/hooks/agent', run, key)
    expect([second.body, isReplay(second)]).toEqual([first.body, true])
    expect((await post(`/api/runs/${first.body.runId}/cancel`, {}, operator)).status).toBe(200)
    expect(isReplay(await post('/hooks/agent', run, key))).toBe(true)
  })
})

describe('a request with several runs', () => {
  const mapping = {
    match: { path: 'alerts' },
    forEach: 'items',
    messageTemplate: '{{ item }}',
    deliver: false,
    wakeMode: 'next-heartbeat',
  }
  const hooks = { mappings: [{ ...mapping, idempotencyKey: '{{ id }}' }] }
  const alerts = { id: 'a1', items: ['one', 'two'] }

  it('runs again when all have ended and none has succeeded', async () => {
    const { post, model } = await start([{ status: 400 }, { hang: true }], { hooks })
    const first = await post('/hooks/alerts', alerts)
    await model.request(1)
    expect(isReplay(await post('/hooks/alerts', alerts))).toBe(true)
    model.otherwise({ text: 'done' })
    const [, second] = first.body.runIds
    await post(`/api/runs/${second}/cancel`, {}, operator)
    const again = await post('/hooks/alerts', alerts, wait)
    expect([isReplay(again), again.body.runs.map(({ status }: { status: string }) => status)]).toEqual([
      false,
      ['succeeded', 'succeeded'],
    ])
  })

  it('does not run again when one of them has succeeded', async () => {
    const { post } = await start([{ status: 400 }, { text: 'done' }], { hooks })
    await post('/hooks/alerts', alerts, wait)
    expect(isReplay(await post('/hooks/alerts', alerts))).toBe(true)
  })
})

describe('a request of a provider', () => {
  it('runs again when the provider sends it again', async () => {
    const { post } = await start([{ status: 400 }, { text: 'done' }], {
      hooks: {
        mappings: [
          {
            match: { path: 'ci' },
            idempotencyKey: '{{ headers.x-delivery }}',
            messageTemplate: 'built',
            deliver: false,
            wakeMode: 'next-heartbeat',
          },
        ],
      },
    })
    expect((await post('/hooks/ci', {}, { 'x-delivery': '1', ...wait })).body.status).toBe('failed')
    const again = await post('/hooks/ci', {}, { 'x-delivery': '1', ...wait })
    expect([again.body.status, isReplay(again)]).toEqual(['succeeded', false])
  })
})
