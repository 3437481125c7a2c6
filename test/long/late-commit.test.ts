// Tests a store that is slow or dies at the wrong moment.
import { setTimeout as delay } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, startGateway } from '../helpers.ts'

let threads: { worker: Worker; sent: number; answered: number }[]
beforeEach(() => {
  threads = []
  process.on('worker', watch)
  onTestFinished(() => void process.off('worker', watch))
})

/** Counts the groups of calls that were sent to the store's thread, and those that it has answered. */
function watch(worker: Worker): void {
  // The first group opens the file and is sent before the worker event.
  const counts = { worker, sent: 1, answered: 0 }
  const send = worker.postMessage.bind(worker)
  worker.postMessage = (calls: unknown) => {
    counts.sent += 1
    send(calls)
  }
  worker.on('message', (outcomes: readonly unknown[]) => void (counts.answered += outcomes.length))
  threads.push(counts)
}

/** Returns the current thread of the store. */
const thread = () => threads.at(-1)!.worker

/** Blocks the store's thread until the returned function is called. */
function stall(worker: Worker): () => void {
  const send = worker.postMessage
  const held: unknown[] = []
  worker.postMessage = (message: unknown) => void held.push(message)
  return () => {
    worker.postMessage = send
    for (const message of held) worker.postMessage(message)
  }
}

/** Stalls the thread at the next call of this operation. Resolves then with a function that continues it. */
function stallAt(worker: Worker, operation: string): Promise<() => void> {
  const send = worker.postMessage.bind(worker)
  return new Promise((resolve) => {
    worker.postMessage = (calls: unknown) => {
      if (!holds(calls, operation)) return send(calls)
      worker.postMessage = send
      const goOn = stall(worker)
      worker.postMessage(calls)
      resolve(goOn)
    }
  })
}

const holds = (calls: unknown, operation: string): boolean =>
  (calls as readonly [name: string][] | null)?.some(([name]) => name === operation) ?? false

/** Ends the thread after it has committed the next call of this operation after an accept, before it answers. */
function dieBehindCommit(worker: Worker, operation: string): void {
  const counts = threads.at(-1)!
  const send = worker.postMessage.bind(worker)
  const emit = worker.emit.bind(worker) as (name: string | symbol, ...rest: unknown[]) => boolean
  let isArmed = false
  let deadly = Infinity
  worker.postMessage = (calls: unknown) => {
    send(calls)
    isArmed ||= holds(calls, 'acceptRows')
    if (isArmed && holds(calls, operation)) deadly = Math.min(deadly, counts.sent)
  }
  worker.emit = (name: string | symbol, ...rest: unknown[]) => {
    if (name !== 'message' || counts.answered + (rest[0] as readonly unknown[]).length < deadly)
      return emit(name, ...rest)
    deadly = 0
    void worker.terminate()
    return true
  }
}

/** Ends the thread instead of the next call of this operation. */
function dieBefore(worker: Worker, operation: string): void {
  const send = worker.postMessage.bind(worker)
  worker.postMessage = (calls: unknown) => {
    if (holds(calls, operation)) void worker.terminate()
    else send(calls)
  }
}

async function start(settings: object = {}) {
  const model = await startModel()
  model.otherwise({ text: 'HEARTBEAT_OK' })
  const gateway = await startGateway({
    providers: model.providers,
    agents: { defaults: { model: 'double/m', heartbeat: { every: '0' }, ...settings } },
  })
  return { ...gateway, model }
}

const run = { message: 'the disk is full', deliver: false, wakeMode: 'next-heartbeat' }
const wake = { text: 'the roof leaks' }
const key = { 'idempotency-key': 'k' }

describe.each([
  ['agent', run, 'the disk is full'],
  ['wake', wake, 'the roof leaks'],
])('a request to /hooks/%s that gets 503 but is stored', (hook, body, text) => {
  it('is executed when the store was only slow', async () => {
    const { post, model } = await start()
    const goOn = stall(thread())
    expect(await post(`/hooks/${hook}`, body, key)).toMatchObject({
      status: 503,
      body: { error: { type: 'store_unavailable' } },
    })
    goOn()
    expect(await model.prompt(0)).toContain(text)
    const again = await post(`/hooks/${hook}`, body, key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  })

  it("is executed when the store's thread ended after its commit", async () => {
    const { post, model } = await start()
    dieBehindCommit(thread(), 'acceptRows')
    expect(await post(`/hooks/${hook}`, body, key)).toMatchObject({
      status: 503,
      body: { error: { type: 'store_unavailable' } },
    })
    expect(await model.prompt(0)).toContain(text)
    const again = await post(`/hooks/${hook}`, body, key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  })
})

describe('a claimed run', () => {
  it("starts with its first attempt although the store's thread ended after the commit", async () => {
    const { post, get, model } = await start({ maxAttempts: 1 })
    dieBehindCommit(thread(), 'claimRuns')
    const { status, body } = await post('/hooks/agent', run)
    expect(status).toBe(200)
    expect(await model.prompt(0)).toContain('the disk is full')
    await expect.poll(async () => (await get(`/runs/${body.runId}`)).body.status).toBe('succeeded')
  })
})

describe('a run that has ended', () => {
  it("is answered and wakes the agent although the store's thread ended after the commit", async () => {
    const { post, model } = await start()
    dieBehindCommit(thread(), 'endRun')
    const { body } = await post('/hooks/agent', { message: 'the disk is full', deliver: false }, { prefer: 'wait=10' })
    expect(body).toMatchObject({ status: 'succeeded', reply: 'HEARTBEAT_OK' })
    expect(await model.prompt(1)).toContain('Hook: HEARTBEAT_OK')
    expect(model.requests).toHaveLength(2)
  })

  it('is not run again when the store is unavailable while its outcome is resolved', async () => {
    const { post, model } = await start()
    model.script({ text: 'All is well again.' })
    dieBefore(thread(), 'listRoutes')
    const { body } = await post(
      '/hooks/agent',
      { message: 'the disk is full', channel: 'console', to: 'ops', wakeMode: 'next-heartbeat' },
      { prefer: 'wait=10' },
    )
    expect(body).toMatchObject({ status: 'succeeded', reply: 'All is well again.' })
    expect(model.requests).toHaveLength(1)
  })
})

describe('a run that starts while the store is unavailable', () => {
  it.each(['claimEvents', 'listTranscript'])('waits for the store: %s', async (operation) => {
    const { post, model } = await start()
    dieBefore(thread(), operation)
    expect((await post('/hooks/agent', run, { prefer: 'wait=10' })).body).toMatchObject({
      status: 'succeeded',
      reply: 'HEARTBEAT_OK',
    })
    expect(model.requests).toHaveLength(1)
  })

  it('does not use up its time limit, and can be cancelled', async () => {
    const { post, get } = await start()
    const asked = stallAt(thread(), 'claimEvents')
    const { body } = await post('/hooks/agent', { ...run, timeoutSeconds: 0.01 })
    const goOn = await asked
    const cancelled = post(`/api/runs/${body.runId}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })
    // More than its time limit. The cancellation reads the run, so it waits for the store, too.
    await delay(100)
    goOn()
    expect((await cancelled).status).toBe(200)
    await expect.poll(async () => (await get(`/runs/${body.runId}`)).body.status).toBe('cancelled')
  })
})
