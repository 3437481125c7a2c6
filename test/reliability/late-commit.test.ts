// Work that is on disk although its sender was answered 503: it is started all the same, whether or not the sender tries again.
import type { Worker } from 'node:worker_threads'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'

let workers: Worker[]
beforeEach(() => {
  workers = []
  const remember = (worker: Worker) => void workers.push(worker)
  process.on('worker', remember)
  onTestFinished(() => void process.off('worker', remember))
})

/** The store's thread as it is now. */
const thread = () => workers.at(-1) as Worker

/** Nothing reaches the store's thread until the returned function is called. */
function stall(worker: Worker): () => void {
  const send = worker.postMessage
  const held: unknown[] = []
  worker.postMessage = (message: unknown) => void held.push(message)
  return () => {
    worker.postMessage = send
    for (const message of held) worker.postMessage(message)
  }
}

/** The thread ends when it has committed the next call of this operation, and before anybody hears of it. */
function dieBehindCommit(worker: Worker, operation: string): void {
  const send = worker.postMessage.bind(worker)
  const emit = worker.emit.bind(worker) as (name: string | symbol, ...rest: unknown[]) => boolean
  let armed = false
  worker.postMessage = (calls: unknown) => {
    armed ||= (calls as readonly [name: string][] | null)?.some(([name]) => name === operation) ?? false
    send(calls)
  }
  worker.emit = (name: string | symbol, ...rest: unknown[]) => {
    if (!armed || name !== 'message') return emit(name, ...rest)
    void worker.terminate()
    return true
  }
}

/** The thread ends in place of the next call of this operation. */
function dieBefore(worker: Worker, operation: string): void {
  const send = worker.postMessage.bind(worker)
  worker.postMessage = (calls: unknown) => {
    if ((calls as readonly [name: string][] | null)?.some(([name]) => name === operation)) void worker.terminate()
    else send(calls)
  }
}

async function start(settings: object = {}) {
  const model = await startModel()
  model.otherwise({ text: 'HEARTBEAT_OK' })
  const gateway = await startGateway({ providers: model.providers, agents: { defaults: { model: 'double/m', heartbeat: { every: '0' }, ...settings } } })
  return { ...gateway, model }
}

const run = { message: 'the disk is full', deliver: false, wakeMode: 'next-heartbeat' }
const wake = { text: 'the roof leaks' }
const key = { 'idempotency-key': 'k' }

describe.each([
  ['agent', run, 'the disk is full'],
  ['wake', wake, 'the roof leaks'],
])('a request to /hooks/%s that is answered 503 and stored nevertheless', (hook, body, text) => {
  it('is done when the store has only been slow', async () => {
    const { post, model } = await start()
    const goOn = stall(thread())
    expect(await post(`/hooks/${hook}`, body, key)).toMatchObject({ status: 503, body: { error: { type: 'store_unavailable' } } })
    goOn()
    expect(await model.prompt(0)).toContain(text)
    const again = await post(`/hooks/${hook}`, body, key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  })

  it("is done when the store's thread died behind its commit", async () => {
    const { post, model } = await start()
    dieBehindCommit(thread(), 'accept')
    expect(await post(`/hooks/${hook}`, body, key)).toMatchObject({ status: 503, body: { error: { type: 'store_unavailable' } } })
    expect(await model.prompt(0)).toContain(text)
    const again = await post(`/hooks/${hook}`, body, key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  })
})

describe('a run that was handed out', () => {
  it("begins, with its first attempt, though the store's thread died behind the commit", async () => {
    const { post, get, model } = await start({ maxAttempts: 1 })
    dieBehindCommit(thread(), 'claimRuns')
    const { status, body } = await post('/hooks/agent', run)
    expect(status).toBe(200)
    expect(await model.prompt(0)).toContain('the disk is full')
    await expect.poll(async () => (await get(`/runs/${body.runId}`)).body.status).toBe('succeeded')
  })
})

describe('a run that has ended', () => {
  it("tells whoever waits, and wakes the agent, though the store's thread died behind the commit", async () => {
    const { post, model } = await start()
    dieBehindCommit(thread(), 'endRun')
    const { body } = await post('/hooks/agent', { message: 'the disk is full', deliver: false }, { prefer: 'wait=10' })
    expect(body).toMatchObject({ status: 'succeeded', reply: 'HEARTBEAT_OK' })
    expect(await model.prompt(1)).toContain('Hook: HEARTBEAT_OK')
    expect(model.requests).toHaveLength(2)
  })

  it('is not run again though the store is away when its outcome is resolved', async () => {
    const { post, model } = await start()
    model.script({ text: 'All is well again.' })
    dieBefore(thread(), 'lastRoute')
    const { body } = await post(
      '/hooks/agent',
      { message: 'the disk is full', channel: 'console', to: 'ops', wakeMode: 'next-heartbeat' },
      { prefer: 'wait=10' },
    )
    expect(body).toMatchObject({ status: 'succeeded', reply: 'All is well again.' })
    expect(model.requests).toHaveLength(1)
  })
})
