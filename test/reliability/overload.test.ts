// Tests overload and a full disk: the gateway returns 503 with Retry-After, and recovers by itself.
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { ended, get, post, start, waitingTexts } from './process.ts'

describe('a queue at hooks.maxQueuedRuns', () => {
  it('accepts wakes but no more runs, until a queued run has started', async () => {
    const model = await startModel()
    model.script({ hang: true })
    model.otherwise({ text: 'done' })
    const { post, gateway } = await startGateway({
      hooks: { maxQueuedRuns: 3 },
      gateway: { drainSeconds: 0 },
      providers: model.providers,
      agents: {
        defaults: { model: 'double/m', maxConcurrent: 1, heartbeat: { every: '0' }, retry: { forSeconds: 0 } },
      },
    })
    const run = { message: 'work', deliver: false, wakeMode: 'next-heartbeat' }
    const first = (await post('/hooks/agent', run)).body.runId as string
    await model.request(0)
    const queued = [await post('/hooks/agent', run), await post('/hooks/agent', run), await post('/hooks/agent', run)]
    expect(queued.map(({ status }) => status)).toEqual([200, 200, 200])
    const key = { 'idempotency-key': 'too many' }
    const refused = await post('/hooks/agent', run, key)
    expect([refused.status, refused.body.error.type, Number(refused.headers.get('retry-after')) >= 1]).toEqual([
      503,
      'overloaded',
      true,
    ])
    expect((await post('/hooks/wake', { text: 'still heard', mode: 'next-heartbeat' })).status).toBe(200)
    // When the first run ends, the queued ones start.
    const asAdmin = { authorization: `Bearer ${gatewayToken}` }
    expect((await post(`/api/runs/${first}/cancel`, {}, asAdmin)).status).toBe(200)
    await model.request(1)
    const again = await post('/hooks/agent', run, { ...key, prefer: 'wait=20' })
    expect([again.status, again.body.status, again.headers.get('idempotent-replayed')]).toEqual([
      200,
      'succeeded',
      null,
    ])
    await gateway.close()
  })
})

describe('a full disk', () => {
  it('returns 503, is not ready, still reads, and resumes when there is space', async () => {
    const dir = temporaryFolder()
    const gateway = await start(dir)
    const accepted: string[] = []
    const wake = async (text: string) => {
      const answer = await post(gateway.url, ['wake', { text, mode: 'next-heartbeat' }])
      if (answer.status === 200) accepted.push(text)
      return answer
    }
    await wake('before')
    limitFiles(gateway.process.pid!, 4096)
    const refused = await wake('while it is full')
    expect([refused.status, refused.body.error.type, Number(refused.headers.get('retry-after')) >= 1]).toEqual([
      503,
      'store_unavailable',
      true,
    ])
    expect((await get(gateway.url, '/readyz')).status).toBe(503)
    expect((await get(gateway.url, '/healthz')).status).toBe(200)
    const lists = await Promise.all(
      ['requests', 'runs', 'outbox', 'sessions', 'sessions/main'].map((list) => get(gateway.url, `/api/${list}`)),
    )
    expect(lists.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(lists[0]?.body.items).toHaveLength(1)
    limitFiles(gateway.process.pid!, 'unlimited')
    expect((await get(gateway.url, '/readyz')).status).toBe(200)
    expect((await wake('after')).status).toBe(200)
    const run = await post(gateway.url, ['agent', { message: 'works too', deliver: false, wakeMode: 'next-heartbeat' }])
    expect(await ended(gateway.url, run.body.runId)).toMatchObject({ status: 'succeeded' })
    expect(await gateway.end('SIGTERM')).toBe(0)
    const kept = (await waitingTexts(dir)).filter((text) => !text.startsWith('Hook'))
    expect(kept).toEqual(accepted)
    expect(accepted).toEqual(['before', 'after'])
  })
})

describe('a message of a channel on a full disk', () => {
  it('is stored when there is space again, though the channel calls receive once', async () => {
    const { chat, gateway, isWaiting } = await startOnFullDisk()
    const said = chat.say({ id: 'while it is full' })
    await isWaiting()
    limitFiles(gateway.process.pid!, 'unlimited')
    expect(await said).toBe('accepted')
    expect(await chat.say({ id: 'while it is full' })).toBe('duplicate')
    expect((await chat.holds(1)).map(({ to }) => to)).toEqual(['ann'])
  })

  it('does not keep the gateway from stopping', async () => {
    const { chat, gateway, isWaiting } = await startOnFullDisk()
    const said = chat.say({})
    await isWaiting()
    expect(await gateway.end('SIGTERM')).toBe(0)
    expect(await said).toMatch(/^rejected: AbortError/)
  })
})

async function startOnFullDisk() {
  const chat = await startChat()
  const dir = temporaryFolder()
  const agents = { defaults: { heartbeat: { every: 0 } } }
  const channels = chat.config(dir, { 'chat-native': { allowFrom: ['ann'] } })
  const gateway = await start(dir, { agents, log: { level: 'warn' }, ...channels })
  await expect.poll(() => chat.connected).toHaveLength(1)
  limitFiles(gateway.process.pid!, 4096)
  const isWaiting = async () => {
    await expect.poll(() => gateway.log.join(), { timeout: 10_000 }).toContain('it is tried again')
  }
  return { chat, gateway, isWaiting }
}

/** Makes the kernel refuse to let files of the process grow beyond this size. */
const limitFiles = (pid: number, bytes: number | 'unlimited') =>
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`])
