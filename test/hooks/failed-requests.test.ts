// A request whose runs have failed for good releases its keys, so that the next attempt of its sender runs.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { type Answer, type Document, gatewayToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'

const wait = { prefer: 'wait=20' }
const operator = { authorization: `Bearer ${gatewayToken}` }
const key = (name: string) => ({ 'idempotency-key': name })
const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const run = { message: 'the disk is full', ...quiet }
const mappings = [
  { ...quiet, match: { path: 'alerts' }, forEach: 'items', messageTemplate: '{{ item }}', idempotencyKey: '{{ id }}' },
  { ...quiet, match: { path: 'ci' }, messageTemplate: 'built', idempotencyKey: '{{ headers.x-delivery }}' },
]

async function start(changes: Document = {}) {
  const model = await startModel()
  const agents = { defaults: { model: 'double/m', maxConcurrent: 1, heartbeat: { every: '0' }, ...changes } }
  return { model, ...(await startGateway({ providers: model.providers, agents, hooks: { mappings } })) }
}

/** Each test scripts what the model answers, and has keys of its own. */
const shared = share(() => start({ retry: { forSeconds: 0 } }))

describe('a request whose run has failed', () => {
  it.each<[string, ModelAnswer, object]>([
    ['failed', { status: 400 }, {}],
    ['timed_out', { hang: true }, { timeoutSeconds: 1 }],
  ])('runs again when the sender retries: %s', async (status, answer, fields) => {
    const { model, post } = shared()
    model.script(answer, { text: 'done' })
    const send = () => post('/hooks/agent', { ...run, ...fields }, { ...key(status), ...wait })
    expect((await send()).body.status).toBe(status)
    const second = await send()
    expect([second.body.status, isReplay(second)]).toEqual(['succeeded', false])
    const third = await send()
    expect([third.body, isReplay(third)]).toEqual([second.body, true])
  })

  it('accepts its key with another body', async () => {
    const { model, post } = shared()
    model.script({ status: 400 }, { text: 'done' })
    const send = (message: string) => post('/hooks/agent', { ...run, message }, { ...key('another'), ...wait })
    expect((await send('one')).body.status).toBe('failed')
    expect((await send('another')).body.status).toBe('succeeded')
  })

  it('does not run again while it is being retried or after it was cancelled', async () => {
    const { model, post, get } = await start({ retry: { initialDelaySeconds: 60, maxDelaySeconds: 60 } })
    model.script(...Array.from({ length: 3 }, () => ({ status: 500, headers: { 'retry-after-ms': '1' } })))
    const send = () => post('/hooks/agent', run, key('retried'))
    const first = await send()
    await expect.poll(async () => (await get(`/runs/${first.body.runId}`)).body.nextAttemptAt).toBeDefined()
    const second = await send()
    expect([second.body, isReplay(second)]).toEqual([first.body, true])
    expect((await post(`/api/runs/${first.body.runId}/cancel`, {}, operator)).status).toBe(200)
    expect(isReplay(await send())).toBe(true)
  })
})

describe('a request with several runs', () => {
  const alertsOf = (id: string) => ({ id, items: ['one', 'two'] })

  it('runs again when all have ended and none has succeeded', async () => {
    const { model, post, get } = shared()
    const before = model.requests.length
    model.script({ status: 400 }, { hang: true }, { text: 'done' }, { text: 'done' })
    const first = await post('/hooks/alerts', alertsOf('a1'))
    await model.request(before + 1)
    expect(isReplay(await post('/hooks/alerts', alertsOf('a1')))).toBe(true)
    const [, second] = first.body.runIds
    await post(`/api/runs/${second}/cancel`, {}, operator)
    await expect.poll(async () => (await get(`/runs/${second}`)).body.status).toBe('cancelled')
    const again = await post('/hooks/alerts', alertsOf('a1'), wait)
    expect([isReplay(again), again.body.runs.map(({ status }: { status: string }) => status)]).toEqual([
      false,
      ['succeeded', 'succeeded'],
    ])
  })

  it('does not run again when one of them has succeeded', async () => {
    const { model, post } = shared()
    model.script({ status: 400 }, { text: 'done' })
    await post('/hooks/alerts', alertsOf('a2'), wait)
    expect(isReplay(await post('/hooks/alerts', alertsOf('a2')))).toBe(true)
  })
})

describe('a request of a provider', () => {
  it('runs again when the provider sends it again', async () => {
    const { model, post } = shared()
    model.script({ status: 400 }, { text: 'done' })
    expect((await post('/hooks/ci', {}, { 'x-delivery': '1', ...wait })).body.status).toBe('failed')
    const again = await post('/hooks/ci', {}, { 'x-delivery': '1', ...wait })
    expect([again.body.status, isReplay(again)]).toEqual(['succeeded', false])
  })
})
