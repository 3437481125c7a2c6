// What a database or its operator may do to a gateway: restore the store, set it to read only, put a pooler before it.
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { createStoreClock } from '../../../core/store/postgres/store-clock.ts'
import { lockNumberOf } from '../../../core/store/postgres/migrate.ts'
import { run } from '../../cli/command-line.ts'
import { type Document, spawnGateway, startGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { createDatabase, query } from '../../postgres.ts'
import { startDatabaseProxy } from './database-proxy.ts'
import { startTransactionPooler } from './transaction-pooler.ts'

async function openDatabase(): Promise<string> {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  return database.url
}

const configFor = (url: string, changes: Document = {}): string =>
  writeConfig(temporaryFolder(), { storage: { url }, ...changes })

const wake = { text: 'Hello', mode: 'next-heartbeat' }

async function spawn(url: string, options: Parameters<typeof spawnGateway>[1] = {}) {
  const gateway = await spawnGateway(configFor(url), options)
  onTestFinished(() => void gateway.process.kill('SIGKILL'))
  return gateway
}

it('a gateway ends when its store is created anew, and writes nothing to the new one', async () => {
  const url = await openDatabase()
  const old = await spawn(url)
  await query(url, 'DROP SCHEMA public CASCADE')
  await query(url, 'CREATE SCHEMA public')
  const next = await startGateway({ storage: { url } })
  expect((await next.post('/hooks/wake', wake)).status).toBe(200)
  await expect.poll(() => old.process.exitCode, { timeout: 20_000 }).toBe(1)
  expect(old.log.join('\n')).toContain('were restored, dropped or created anew while the gateway was running')
  expect(await query(url, 'SELECT count(*)::int AS n FROM event')).toEqual([{ n: 1 }])
  expect(await query(url, "SELECT count(DISTINCT owner)::int AS n FROM lease WHERE name = 'heartbeat'")).toEqual([
    { n: 1 },
  ])
})

it('a gateway leaves a server that only reads, and continues when it writes again', async () => {
  const url = await openDatabase()
  const gateway = await startGateway({ storage: { url } })
  const name = new URL(url).pathname.slice(1)
  const status = async () => (await gateway.post('/hooks/wake', wake)).status
  await query(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  await query(
    url,
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  await expect.poll(status).toBe(503)
  await query(inject('postgresUrl'), `ALTER DATABASE ${name} RESET default_transaction_read_only`)
  await expect.poll(status, { timeout: 10_000 }).toBe(200)
})

it('a start names the cause if the server only reads', async () => {
  const url = await openDatabase()
  await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`)
  const config = configFor(url, { log: { level: 'silent' } })
  const { code, stderr } = await run(dirname(config), ['start', '--config', config])
  expect([code, stderr]).toEqual([1, expect.stringContaining('it only reads, as a standby does; name the primary')])
})

it('a gateway uses the first of several hosts that can be written, and leaves it when it cannot', async () => {
  const url = new URL(await openDatabase())
  const [first, second] = [await startDatabaseProxy(url.href), await startDatabaseProxy(url.href)]
  for (const proxy of [first, second]) onTestFinished(proxy.close)
  const [dead, ...hosts] = ['127.0.0.1:1', new URL(first.url).host, new URL(second.url).host]
  const gateway = await startGateway({ storage: { url: url.href.replace(url.host, [dead, ...hosts].join(',')) } })
  const status = async () => (await gateway.post('/hooks/wake', wake)).status
  expect(await status()).toBe(200)
  first.close()
  await expect.poll(status, { timeout: 10_000 }).toBe(200)
})

it('a start refuses a pooler in transaction mode', async () => {
  const pooler = await startTransactionPooler(await openDatabase())
  onTestFinished(pooler.close)
  const config = configFor(pooler.url, { log: { level: 'silent' } })
  const { code, stderr } = await run(dirname(config), ['start', '--config', config])
  expect([code, stderr]).toEqual([1, expect.stringContaining('a pooler that lends connections for one transaction')])
})

it('the guards and the commits of a connection do not depend on the settings of the database', async () => {
  const url = await openDatabase()
  await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`)
  const gateway = await startGateway({ storage: { url } })
  await query(url, 'CREATE TABLE noted (name text, value text)')
  await query(
    url,
    `
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO noted SELECT name, setting FROM pg_settings
      WHERE name IN ('synchronous_commit', 'idle_in_transaction_session_timeout', 'tcp_user_timeout');
      RETURN NEW; END $$`,
  )
  await query(url, 'CREATE TRIGGER note AFTER INSERT ON event FOR EACH ROW EXECUTE FUNCTION note()')
  expect((await gateway.post('/hooks/wake', wake)).status).toBe(200)
  expect(await query(url, 'SELECT * FROM noted ORDER BY name')).toEqual([
    { name: 'idle_in_transaction_session_timeout', value: '3000' },
    { name: 'synchronous_commit', value: 'on' },
    { name: 'tcp_user_timeout', value: '5000' },
  ])
})

it('locks are numbered on servers whose object ids do not fit a signed number', async () => {
  const number = lockNumberOf(3_000_000_000)
  expect(number).toBe(-1_294_967_296)
  expect(await query(inject('postgresUrl'), `SELECT pg_try_advisory_xact_lock(${number}, 0) AS locked`)).toEqual([
    { locked: true },
  ])
})

describe('the clock of a gateway', () => {
  const shifted = (env: NodeJS.ProcessEnv) => ({ nodeOptions: ['--import', shiftedClock], env })

  it('that is minutes off does not start', async () => {
    const url = await openDatabase()
    await expect(spawn(url, shifted({ CLOCK_SHIFT_MS: '-300000' }))).rejects.toThrow(
      /The clock of this gateway is 300 seconds behind that of the database; synchronize both\./,
    )
  })

  it('that becomes wrong stops it from purging, checking signatures and accepting, until it is right', async () => {
    const url = await openDatabase()
    const gateway = await spawn(url, shifted({ CLOCK_SHIFT_MS: '0', CLOCK_JUMP_MS: String(40 * 24 * 60 * 60 * 1000) }))
    const ready = async () => (await fetch(`${gateway.url}/readyz`)).status
    expect(await ready()).toBe(200)
    gateway.process.kill('SIGWINCH')
    await expect.poll(ready).toBe(503)
    const answer = await fetch(`${gateway.url}/hooks/wake`, { method: 'POST', body: '{}' })
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        ok: false,
        error: expect.objectContaining({ type: 'store_unavailable' }),
      },
    ])
    await expect
      .poll(() => gateway.log.join('\n'))
      .toContain('The clock of this gateway is 3456000 seconds ahead of that of the database')
    gateway.process.kill('SIGWINCH')
    await expect.poll(ready).toBe(200)
  })

  it('is measured again by no answer that comes late', async () => {
    let waitMs = 0
    const times = [Date.now(), Date.now() + 30_000]
    const query = async <Row>() => {
      const until = performance.now() + waitMs
      while (performance.now() < until) await new Promise(setImmediate)
      return [{ now: times.shift() }] as Row[]
    }
    const clock = createStoreClock({ query }, { debug() {}, info() {}, warn() {}, error() {} })
    await clock.measure()
    waitMs = 1_100
    await clock.measure()
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(5_000)
  })
})

const shiftedClock = pathToFileURL(new URL('../../long/cluster/shifted-clock.ts', import.meta.url).pathname).href
