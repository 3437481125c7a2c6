// What a database or its operator may do to a gateway: restore the store, set it to read only, put a pooler before it.
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { createStoreClock } from '../../../core/store/postgres/store-clock.ts'
import type { Store, StoredDelivery, StoredRun } from '../../../core/store/store.ts'
import { run } from '../../cli/command-line.ts'
import { newDelivery, newKey, newRequest, newRun, newSchedule, runEnd, start } from '../../contracts/store-samples.ts'
import { type Document, hookToken, spawnGateway, startGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { startModel } from '../../doubles/model.ts'
import { copyTables, createDatabase, createStranger, query, restoreTables, startPostgres } from '../../postgres.ts'
import { silent } from '../acknowledging.ts'
import { openStore } from '../open-store.ts'
import { startDatabaseProxy } from './database-proxy.ts'
import { startTransactionPooler } from './transaction-pooler.ts'

async function openDatabase(): Promise<string> {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  return database.url
}

const configFor = (url: string, changes: Document = {}): string =>
  writeConfig(temporaryFolder(), { storage: { url }, ...changes })

async function open(url: string): Promise<Store> {
  const store = await openStore({ url, dir: '/nowhere', log: silent })
  onTestFinished(store.close)
  return store
}

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
  // Which of its checks notices first is open.
  expect(old.log.join('\n')).toMatch(
    /were restored, dropped or created anew while the gateway was running|leads to another store than when the gateway/,
  )
  expect(await query(url, 'SELECT count(*)::int AS n FROM event')).toEqual([{ n: 1 }])
  expect(await query(url, "SELECT count(DISTINCT owner)::int AS n FROM lease WHERE name = 'heartbeat'")).toEqual([
    { n: 1 },
  ])
})

it('a gateway ends when its store is restored, and writes nothing to the restored one', async () => {
  const url = await openDatabase()
  const old = await spawn(url)
  await copyTables(url)
  const leases = await query(url, 'SELECT * FROM backup.lease ORDER BY name')
  await restoreTables(url)
  await expect.poll(() => old.process.exitCode, { timeout: 20_000 }).toBe(1)
  expect(old.log.join('\n')).toContain('were restored, dropped or created anew while the gateway was running')
  expect(await query(url, 'SELECT * FROM lease ORDER BY name')).toEqual(leases)
  const next = await startGateway({ storage: { url } })
  expect((await next.post('/hooks/wake', wake)).status).toBe(200)
})

it('a gateway ends when its address leads to another store with the same object id', async () => {
  const [url, otherUrl] = [await openDatabase(), await openDatabase()]
  const gateway = await spawn(url)
  await (await openStore({ url: otherUrl, dir: '/nowhere', log: silent })).close()
  const [row] = await query(url, "SELECT 'migration'::regclass::oid::text AS id")
  await query(otherUrl, takeIdSql(String(row?.['id'])))
  const [name, other] = [url, otherUrl].map((one) => new URL(one).pathname.slice(1)) as [string, string]
  const server = inject('postgresUrl')
  onTestFinished(async () => void (await query(server, `DROP DATABASE ${name}_gone`)))
  await query(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await query(server, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`)
  await query(server, `ALTER DATABASE ${name} RENAME TO ${name}_gone`)
  await query(server, `ALTER DATABASE ${other} RENAME TO ${name}`)
  await expect.poll(() => gateway.process.exitCode, { timeout: 20_000 }).toBe(1)
  expect(gateway.log.join('\n')).toContain('storage.url leads to another store than when the gateway started')
  expect(await query(url, 'SELECT * FROM lease')).toEqual([])
})

describe('a database that cannot take what comes', () => {
  const startError = async (url: string): Promise<string> => {
    const config = configFor(url, { log: { level: 'silent' } })
    return (await run(dirname(config), ['start', '--config', config])).stderr
  }

  it('is refused by the start, and doctor says why', async () => {
    const latin = await createDatabase(inject('postgresUrl'), "ENCODING 'LATIN1' TEMPLATE template0")
    onTestFinished(latin.remove)
    const url = await openDatabase()
    const { url: reader, remove } = await createStranger(url)
    onTestFinished(remove)
    await (await open(url)).close()
    const role = new URL(reader).username
    await query(url, `GRANT USAGE ON SCHEMA public TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`)
    onTestFinished(async () => void (await query(url, `DROP OWNED BY ${role}`)))
    for (const [address, id, problem] of [
      [latin.url, 'database_unusable', 'has the encoding LATIN1, which lacks most characters'],
      [reader, 'database_read_only', 'its user may not write these tables: approval, audit, budget_usage'],
    ] as const) {
      expect(await startError(address)).toContain(problem)
      const config = configFor(address)
      const { stdout } = await run(dirname(config), ['doctor', '--config', config, '--json'])
      const findings = stdout.split('\n').filter((line) => line.includes(`"${id}"`))
      expect(findings).toEqual([expect.stringContaining(problem)])
    }
  })

  it('gets 503 and is not ready until it can be written, with one line in the log', async () => {
    const url = await openDatabase()
    const gateway = await spawn(url)
    const post = async () => {
      const headers = { authorization: `Bearer ${hookToken}`, 'content-type': 'application/json' }
      return (await fetch(`${gateway.url}/hooks/wake`, { method: 'POST', headers, body: JSON.stringify(wake) })).status
    }
    const ready = async () => (await fetch(`${gateway.url}/readyz`)).status
    expect(await post()).toBe(200)
    for (const [breakSql, mendSql] of outages) {
      await query(url, breakSql)
      for (let times = 0; times < 3; times++) expect([await post(), await ready()]).toEqual([503, 503])
      await query(url, mendSql)
      await expect.poll(ready).toBe(200)
      expect(await post()).toBe(200)
    }
    const levelOf = (line: string): unknown => (JSON.parse(line) as { level: unknown }).level
    const errors = gateway.log.filter((line) => line.startsWith('{') && ['error', 50].includes(levelOf(line) as string))
    expect(errors.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(
      outages.map(() => 'the store cannot be written'),
    )
  })
})

/** A role without rights, and a disk with room for changed rows only, each with what mends it. */
const outages = [
  [
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'permission denied for table request' USING ERRCODE = '42501'; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON request FOR EACH STATEMENT EXECUTE FUNCTION fail()`,
    'DROP TRIGGER fail ON request; DROP FUNCTION fail',
  ],
  [
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON event FOR EACH STATEMENT EXECUTE FUNCTION fail()`,
    'DROP TRIGGER fail ON event; DROP FUNCTION fail',
  ],
] as const

it('a run whose reply the database refuses fails once, with the reason', async () => {
  const url = await openDatabase()
  const model = await startModel()
  model.otherwise({ text: 'A refused text.' })
  const gateway = await startGateway({
    storage: { url },
    providers: model.providers,
    agents: { defaults: { model: 'double/m', heartbeat: { every: '0' } } },
  })
  await query(url, `ALTER TABLE transcript ADD CHECK (message NOT LIKE '%refused text%')`)
  const task = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' }
  const { body } = await gateway.post('/hooks/agent', task, { prefer: 'wait=30' })
  const { error } = (await gateway.get(`/runs/${body.runId}`)).body
  expect([body.status, error.message]).toEqual(['failed', expect.stringContaining('violates check constraint')])
  expect(model.requests).toHaveLength(1)
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

it('a start names the cause if its connection is ended while it waits for another gateway to migrate', async () => {
  const url = await openDatabase()
  const other = new Client(url)
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('SELECT pg_advisory_lock(7218044911)')
  const config = configFor(url, { log: { level: 'silent' } })
  const started = run(dirname(config), ['start', '--config', config])
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`
  await expect.poll(async () => (await query(url, end)).length).toBe(1)
  const { code, stderr } = await started
  expect([code, stderr]).toEqual([1, expect.stringContaining('terminating connection due to administrator command')])
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

describe('target_session_attrs', () => {
  /** The first host only reads, but is no standby. The second one can be written. */
  async function startTwoHosts(): Promise<(parameters: string) => string> {
    const url = new URL(await openDatabase())
    const server = await startPostgres()
    onTestFinished(server.remove)
    const name = url.pathname.slice(1)
    await query(server.url, `CREATE DATABASE ${name}`)
    await query(server.url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    await query(server.url, `ALTER USER postgres PASSWORD '${url.password}'`)
    const hosts = [new URL(server.url).host, url.host].join(',')
    return (parameters) => url.href.replace(url.host, hosts) + parameters
  }

  const startError = async (url: string): Promise<string> => {
    const config = configFor(url, { log: { level: 'silent' } })
    return (await run(dirname(config), ['start', '--config', config])).stderr
  }

  it('chooses among several hosts, by default one that can be written', async () => {
    const hosts = await startTwoHosts()
    for (const parameters of ['', '?target_session_attrs=read-write']) {
      const gateway = await startGateway({ storage: { url: hosts(parameters) } })
      expect((await gateway.post('/hooks/wake', wake)).status).toBe(200)
    }
    // Both accept the first host, because it is no standby.
    for (const parameters of ['?target_session_attrs=primary', '?target_session_attrs=any'])
      expect(await startError(hosts(parameters))).toContain('it only reads, as a standby does')
  })

  it('applies to a single host, too', async () => {
    const url = await openDatabase()
    const gateway = await startGateway({ storage: { url: `${url}?target_session_attrs=read-write` } })
    expect((await gateway.post('/hooks/wake', wake)).status).toBe(200)
    await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`)
    expect(await startError(`${url}?target_session_attrs=read-write`)).toContain('it only reads, as a standby does')
  })
})

it.each([1, 2, 3])('a start refuses a pooler in transaction mode with %i connections', async (connections) => {
  const pooler = await startTransactionPooler(await openDatabase(), connections)
  onTestFinished(pooler.close)
  const config = configFor(pooler.url, { log: { level: 'silent' } })
  const { code, stderr } = await run(dirname(config), ['start', '--config', config])
  expect([code, stderr]).toEqual([1, expect.stringMatching(/a pooler (that lends|whose) connections/)])
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
      WHERE name IN (
        'synchronous_commit', 'idle_in_transaction_session_timeout', 'tcp_keepalives_idle', 'tcp_user_timeout');
      RETURN NEW; END $$`,
  )
  await query(url, 'CREATE TRIGGER note AFTER INSERT ON event FOR EACH ROW EXECUTE FUNCTION note()')
  expect((await gateway.post('/hooks/wake', wake)).status).toBe(200)
  expect(await query(url, 'SELECT * FROM noted ORDER BY name')).toEqual([
    { name: 'idle_in_transaction_session_timeout', value: '3000' },
    { name: 'synchronous_commit', value: 'on' },
    { name: 'tcp_keepalives_idle', value: '10' },
    { name: 'tcp_user_timeout', value: '5000' },
  ])
})

it('gateways work on a server whose object ids have become larger than a signed number', async () => {
  const url = await openDatabase()
  await (await open(url)).close()
  await query(url, takeIdSql('3000000000'))
  expect(await query(url, "SELECT 'migration'::regclass::oid::text AS id")).toEqual([{ id: '3000000000' }])
  const copy = `sqlite:${join(temporaryFolder(), 'copy.db')}`
  expect((await run(temporaryFolder(), ['store', 'migrate', '--from', url, '--to', copy])).code).toBe(0)
  const gateways = [await startGateway({ storage: { url } }), await startGateway({ storage: { url } })]
  for (const gateway of gateways) expect((await gateway.post('/hooks/wake', wake)).status).toBe(200)
})

/**
 * Gives an id to the table that numbers the locks. A server that has assigned two billion ids goes on with larger ones.
 */
const takeIdSql = (id: string): string => `
  SET allow_system_table_mods = on;
  DO $$ DECLARE old oid := 'migration'::regclass; new oid := ${id}; BEGIN
    UPDATE pg_attribute SET attrelid = new WHERE attrelid = old;
    UPDATE pg_index SET indrelid = new WHERE indrelid = old;
    UPDATE pg_constraint SET conrelid = new WHERE conrelid = old;
    UPDATE pg_type SET typrelid = new WHERE typrelid = old;
    UPDATE pg_depend SET objid = new WHERE classid = 'pg_class'::regclass AND objid = old;
    UPDATE pg_depend SET refobjid = new WHERE refclassid = 'pg_class'::regclass AND refobjid = old;
    UPDATE pg_class SET oid = new WHERE oid = old;
  END $$`

it('a claim holds no lock while its texts are sent', async () => {
  const url = await openDatabase()
  const [proxy, other] = [await startDatabaseProxy(url), await open(url)]
  onTestFinished(proxy.close)
  const frozen = await open(proxy.url)
  const message = 'x'.repeat(240_000)
  const spec = { ...newRun().spec, message }
  const add = (sessionKey: string) => other.accept({ at: start, runs: [newRun({ sessionKey, spec })] })
  await Promise.all(Array.from({ length: 60 }, (_, n) => add(`s${n}`)))
  proxy.stallAfter(1_000_000)
  const claimed = frozen.claimRuns({ owner: 'frozen', max: 60, at: start, leaseMs: 60_000 })
  await expect.poll(async () => (await other.getLiveCounts()).runs.running, { timeout: 3_000 }).toBe(60)
  await add('one more')
  expect(await other.claimRuns({ owner: 'other', max: 60, at: start, leaseMs: 60_000 })).toHaveLength(1)
  proxy.resume()
  expect((await claimed).map(({ spec: { message: text } }) => text.length)).toEqual(Array(60).fill(message.length))
})

it('connections that are silently dead are replaced before their statements time out', async () => {
  const url = await openDatabase()
  const proxy = await startDatabaseProxy(url)
  onTestFinished(proxy.close)
  const gateway = await startGateway({ storage: { url: proxy.url } })
  expect((await gateway.post('/hooks/wake', wake)).status).toBe(200)
  proxy.abandon()
  const status = async () => (await gateway.post('/hooks/wake', wake)).status
  expect(await status()).toBe(503)
  // Without the connection for messages, it takes 20 seconds.
  await expect.poll(status, { timeout: 14_000 }).toBe(200)
})

it('the holder of a run or a delivery whose claim the database has lost cannot end it', async () => {
  const url = await openDatabase()
  const store = await open(url)
  const run = newRun()
  await store.accept({ at: Date.now(), runs: [run], deliveries: [newDelivery({ id: 'd' })] })
  const claim = async (owner: string) => {
    const options = { owner, max: 1, at: Date.now(), leaseMs: 60_000 }
    const [[ofRun], [ofDelivery]] = [await store.claimRuns(options), await store.claimDeliveries(options)]
    return { run: ofRun as StoredRun, delivery: ofDelivery as StoredDelivery }
  }
  const old = await claim('one')
  // As on a standby that lacks the last commits.
  await query(url, `UPDATE run SET status = 'queued', attempt = 0, fencing_token = 0, owner = NULL, lease_until = NULL`)
  await query(url, `UPDATE outbox SET status = 'pending', attempt = 0, fencing_token = 0, owner = NULL`)
  await delay(2)
  const held = await claim('one')
  expect([held.run.id, held.delivery.id]).toEqual([old.run.id, old.delivery.id])
  expect(await store.renewRun(old.run, Date.now() + 60_000)).toBe('lost')
  expect(await store.endRun(old.run, runEnd())).toBe(false)
  const sent = { status: 'sent', platformId: null } as const
  expect(await store.endDelivery('d', old.delivery.fencingToken, sent, Date.now())).toBe(false)
  expect(await store.endRun(held.run, runEnd())).toBe(true)
  expect(await store.endDelivery('d', held.delivery.fencingToken, sent, Date.now())).toBe(true)
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

  it('decides neither when keys expire nor what is old', async () => {
    const store = await open(await openDatabase())
    const at = Date.now()
    const key = newKey({ key: 'k', expiresAt: at + 30_000 })
    await store.accept({ at, idempotency: key, request: newRequest() })
    const now = Date.now
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 50_000)
    onTestFinished(() => clock.mockRestore())
    expect(await store.purgeExpiredKeys(Date.now())).toBe(0)
    expect(await store.hasKey(key, Date.now())).toBe(true)
    expect((await store.accept({ at: Date.now(), idempotency: key })).outcome).toBe('replayed')
    expect((await store.purge({ before: Date.now() - 30_000 })).counts.requests).toBe(0)
  })

  it('decides not when schedules fire', async () => {
    const url = await openDatabase()
    const store = await open(url)
    const at = Date.now()
    const add = (id: string, nextAt: number) => store.addSchedule(newSchedule({ id, nextAt }), { at, most: 9 })
    await add('due', at - 1_000)
    await add('later', at + 40_000)
    await spawn(url, shifted({ CLOCK_SHIFT_MS: '-50000' }))
    const sessionKey = 'agent:main:schedule:due'
    await expect.poll(async () => (await store.listRuns({ sessionKey }, { limit: 9 })).items.length).toBe(1)
    const { items } = await store.listSchedules({}, { limit: 9 })
    expect(items.find(({ id }) => id === 'later')?.nextAt).toBe(at + 40_000)
  })

  it('is compared with that of the database only if this answers quickly', async () => {
    let answers = 0
    const query = async <Row>() => {
      const waitMs = answers++ === 0 ? 1_100 : 0
      await delay(waitMs)
      return [{ now: waitMs === 0 ? Date.now() : Date.now() - 30_000 }] as Row[]
    }
    const clock = createStoreClock({ query }, { debug() {}, info() {}, warn() {}, error() {} })
    await clock.start()
    expect(answers).toBe(2)
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(5_000)
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
