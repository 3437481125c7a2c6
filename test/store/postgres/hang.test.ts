// A database server that accepts connections and does not answer: the gateway says so in time, and recovers by itself.
import { dirname } from 'node:path'
import { expect, inject, it } from 'vitest'
import { run } from '../../cli/command-line.ts'
import { type RunningGateway, startGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { createDatabase, query } from '../../postgres.ts'
import { closeAtEnd } from '../../share.ts'
import { startDatabaseProxy } from './database-proxy.ts'

async function startBehindProxy() {
  const database = await createDatabase(inject('postgresUrl'))
  closeAtEnd(database.remove)
  const proxy = await startDatabaseProxy(database.url)
  closeAtEnd(proxy.close)
  return { database, proxy, gateway: await startGateway({ storage: { url: proxy.url } }) }
}

const wake = (gateway: RunningGateway, text: string) =>
  gateway.post('/hooks/wake', { text, mode: 'next-heartbeat' }, { 'idempotency-key': text })

it('answers 503 while the database hangs, refuses to start, and continues when it answers again', async () => {
  const { database, proxy, gateway } = await startBehindProxy()
  expect((await wake(gateway, 'before')).status).toBe(200)
  proxy.stall()
  const config = writeConfig(temporaryFolder(), { storage: { url: proxy.url }, log: { level: 'silent' } })
  const [started, refused, readiness, health] = await Promise.all([
    run(dirname(config), ['start', '--config', config]),
    wake(gateway, 'during'),
    gateway.get('/readyz'),
    gateway.get('/healthz'),
  ])
  expect(refused).toMatchObject({ status: 503, body: { error: { type: 'store_unavailable' } } })
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(started).toMatchObject({ code: 1, stderr: expect.stringContaining('it does not answer; check the host') })
  expect([readiness.status, health.status]).toEqual([503, 200])
  proxy.resume()
  await expect.poll(async () => (await gateway.get('/readyz')).status).toBe(200)
  // The refused request may have been stored: its sender never learned. Its key makes the repetition safe.
  expect((await wake(gateway, 'during')).status).toBe(200)
  expect(await query(database.url, 'SELECT count(*)::int AS n FROM event')).toEqual([{ n: 2 }])
})
