// The PostgreSQL store: the contract of all stores, and what is specific to PostgreSQL.
import { randomBytes, randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { migrations } from '../../../core/store/migrations/migrations.ts'
import { createTransaction, createTranslation } from '../../../core/store/postgres/transaction.ts'
import type { Store, StoredRun } from '../../../core/store/store.ts'
import { storeContract } from '../../contracts/store.ts'
import { newDelivery, newEvent, newKey, newRequest, newRun, runEnd, start } from '../../contracts/store-samples.ts'
import { createDatabase, query } from '../../postgres.ts'
import { silent } from '../acknowledging.ts'
import { keepOpen, openStore } from '../open-store.ts'
import { startDatabaseProxy } from './database-proxy.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
const open = (url = database.url) => openStore({ url, dir: '/nowhere', log: silent })
/** Opening a store starts a server process for each connection. */
const openOnce = keepOpen(() => open())

beforeAll(async () => {
  database = await createDatabase(inject('postgresUrl'))
})
afterAll(async () => {
  await (await openOnce()).close()
  await database.remove()
})

/** Takes the lock of all writers first. */
const emptySql = `
  DO $$ DECLARE name text; BEGIN
    PERFORM pg_advisory_xact_lock('migration'::regclass::oid::int, 0);
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('migration', 'identity') LOOP
      EXECUTE format('DELETE FROM %I', name);
    END LOOP;
  END $$`

storeContract(async () => ({
  open: openOnce,
  remove: async () => void (await query(database.url, emptySql)),
}))

/** Opens a store on a database of its own and closes both. */
async function onNewDatabase(work: (url: string) => Promise<void>): Promise<void> {
  const { url, remove } = await createDatabase(inject('postgresUrl'))
  try {
    await work(url)
  } finally {
    await remove()
  }
}

describe('several gateways on one database', () => {
  it('create the tables once, also when they start at the same time', () =>
    onNewDatabase(async (url) => {
      const stores = await Promise.all([open(url), open(url), open(url)])
      expect(await query(url, 'SELECT version FROM migration ORDER BY version')).toEqual(
        migrations.map((_, index) => ({ version: String(index + 1) })),
      )
      await stores[0]?.accept({ at: start, runs: [newRun({ id: 'shared' })] })
      expect(await stores[1]?.getRun('shared')).toMatchObject({ id: 'shared', status: 'queued' })
      await Promise.all(stores.map((one) => one.close()))
    }))

  it('refuse tables of a newer version', () =>
    onNewDatabase(async (url) => {
      await (await open(url)).close()
      await query(url, `INSERT INTO migration (version, name) VALUES (999, 'from the future')`)
      await expect(open(url)).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining(`The store has tables of version 999`),
      })
    }))

  it('of the previous version work on after a newer one has migrated the tables, but are not started again', () =>
    onNewDatabase(async (url) => {
      const previous = await open(url)
      await query(url, 'BEGIN; ALTER TABLE run ADD COLUMN newer TEXT; CREATE TABLE newer (a TEXT); COMMIT')
      await query(url, `INSERT INTO migration (version, name) VALUES (${migrations.length + 1}, 'newer')`)
      await previous.accept({ at: start, request: newRequest(), runs: [newRun({ id: 'old' })], events: [newEvent()] })
      const [run] = await previous.claimRuns({ owner: 'old', max: 1, at: start, leaseMs: 1000 })
      expect(await previous.endRun(run!, runEnd({ transcript: [{ message: 'kept' }] }))).toBe(true)
      expect(await previous.getRun('old')).toMatchObject({ status: 'succeeded' })
      await expect(open(url)).rejects.toThrow(`The store has tables of version ${migrations.length + 1}, but`)
      await previous.close()
    }))

  it('accept one of many concurrent commands with the same key, and replay its reply to the others', async () => {
    const [store, other] = await Promise.all([openOnce(), open()])
    const key = randomUUID()
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        (n % 2 ? store : other).accept({
          at: start,
          idempotency: newKey({ key, reply: `reply ${n}` }),
          runs: [newRun({ sessionKey: `agent:main:${key}` })],
        }),
      ),
    )
    const accepted = results.filter((result) => result.outcome === 'accepted')
    expect(accepted).toHaveLength(1)
    const replies = new Set(results.map((result) => ('reply' in result ? result.reply : undefined)))
    expect(replies.size).toBe(2)
    await other.close()
  })

  it('keep the keys of commands that are sent behind a group that fails', async () => {
    const store = await openOnce()
    const twice = newRequest()
    await store.accept({ at: start, request: twice })
    // Groups have up to 64 commands. Those of the first and the second are on their way at the same time.
    const groupSize = 64
    const failing = Array.from({ length: groupSize }, (_, n) =>
      store.accept({ at: start, request: n === 0 ? twice : newRequest() }),
    )
    const keys = Array.from({ length: groupSize }, () => newKey({ key: randomUUID() }))
    const acceptAll = () => Promise.all(keys.map((idempotency) => store.accept({ at: start, idempotency })))
    expect((await acceptAll()).map(({ outcome }) => outcome)).toEqual(keys.map(() => 'accepted'))
    expect((await Promise.allSettled(failing)).filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect((await acceptAll()).map(({ outcome }) => outcome)).toEqual(keys.map(() => 'replayed'))
  })

  it('never wait for each other forever, whatever sessions and keys their commands name', async () => {
    const [store, other] = await Promise.all([openOnce(), open()])
    const names = Array.from({ length: 20 }, (_, n) => `agent:main:${n}`)
    const accept = (one: Store, sessionKey: string) =>
      one.accept({ at: start, idempotency: newKey({ key: randomUUID() }), runs: [newRun({ sessionKey })] })
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        ...names.map((name) => accept(store, name)),
        ...names.toReversed().map((name) => accept(other, name)),
        store.setState('probe', 'round', round),
        other.useEffects({ scopes: names, effects: ['sends'] }),
      ])
    }
    expect(await deadlocksOf(database.url)).toBe(0)
    await other.close()
  })

  it('keep the limit of running runs exactly, also when they claim at the same time', () =>
    onNewDatabase(async (url) => {
      const stores = await Promise.all([open(url), open(url), open(url)])
      const runs = Array.from({ length: 60 }, () => newRun({ sessionKey: randomUUID() }))
      await stores[0].accept({ at: start, runs })
      for (let maxRunning = 3; maxRunning <= 30; maxRunning += 3) {
        const claims = await Promise.all(
          stores.map((one, n) => one.claimRuns({ owner: `${n}`, max: 9, maxRunning, at: start, leaseMs: 1000 })),
        )
        expect(claims.flat()).toHaveLength(3)
      }
      await Promise.all(stores.map((one) => one.close()))
    }))

  it('claim each run once', async () => {
    const [store, other] = await Promise.all([openOnce(), open()])
    const prefix = randomUUID()
    const ids = Array.from({ length: 40 }, (_, n) => `${prefix}-${n}`)
    await Promise.all(ids.map((id) => store.accept({ at: start, runs: [newRun({ id, sessionKey: id })] })))
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? store : other).claimRuns({ owner: `${n}`, max: 5, at: start, leaseMs: 1000 }),
      ),
    )
    const claimed = claims.flat().flatMap((run) => (ids.includes(run.id) ? [run.id] : []))
    expect(claimed.toSorted()).toEqual(ids.toSorted())
    await other.close()
  })
})

describe('a claim searches for work once', () => {
  const lane = Array.from({ length: 3000 })
  /** After it, PostgreSQL expects empty tables. */
  const empty = async (url: string): Promise<void> => {
    for (const table of ['run', 'outbox']) await query(url, `DELETE FROM ${table}`)
    await query(url, 'ANALYZE')
  }

  it('also when PostgreSQL takes the table for empty, and many runs of a session wait', () =>
    onNewDatabase(async (url) => {
      const store = await open(url)
      const accept = () => store.accept({ at: start, runs: lane.map(() => newRun({ sessionKey: 'agent:main:one' })) })
      await accept()
      await empty(url)
      await accept()
      expect(await store.claimRuns({ owner: 'one', max: 5, at: start, leaseMs: 1000 })).toHaveLength(1)
      await store.close()
    }))

  it('also when PostgreSQL takes the table for empty, and many deliveries to a recipient wait', () =>
    onNewDatabase(async (url) => {
      const store = await open(url)
      const accept = () => store.accept({ at: start, deliveries: lane.map(() => newDelivery()) })
      await accept()
      await empty(url)
      await accept()
      expect(await store.claimDeliveries({ owner: 'one', max: 5, at: start, leaseMs: 1000 })).toHaveLength(1)
      await store.close()
    }))
})

const deadlocksOf = async (url: string): Promise<number> => {
  const [row] = await query(url, 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
  return Number(row?.['deadlocks'])
}

describe('a transaction', () => {
  /** Fails once with this code when it is about to commit: a sequence does not go back with the transaction. */
  const failingOnceSql = (code: string) => `
    CREATE SEQUENCE failures;
    CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('failures') = 1 THEN RAISE EXCEPTION 'once' USING ERRCODE = '${code}'; END IF;
        RETURN NEW;
      END $$;
    CREATE CONSTRAINT TRIGGER fail_once AFTER INSERT ON run
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_once()`

  it.each(['40001', '40P01'])('that conflicts with another one (%s) is repeated', (code) =>
    onNewDatabase(async (url) => {
      const store = await open(url)
      await query(url, failingOnceSql(code))
      expect(await store.accept({ at: start, runs: [newRun({ id: 'one' })] })).toEqual({ outcome: 'accepted' })
      expect(await store.getRun('one')).toMatchObject({ status: 'queued' })
      expect(await query(url, 'SELECT last_value FROM failures')).toEqual([{ last_value: '2' }])
      await store.close()
    }),
  )

  it('fails if PostgreSQL answers its COMMIT with ROLLBACK', async () => {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    await client.query('BEGIN')
    await client.query('SELECT 1 / 0').catch(() => undefined)
    const { commit } = createTransaction(client, createTranslation())
    await expect(commit()).rejects.toThrow('PostgreSQL rolled the transaction back.')
    await client.end()
  })

  it('accepts the runs of a session in turn, so that none can be claimed before an earlier one is there', () =>
    onNewDatabase(async (url) => {
      const [one, other] = await Promise.all([open(url), open(url)])
      const holder = new Client({ connectionString: url })
      await holder.connect()
      await query(url, blockingSql)
      await holder.query('SELECT pg_advisory_lock(42)')
      const accept = (store: Store, id: string, sessionKey = 'agent:main:one') =>
        store.accept({ at: start, runs: [newRun({ id, sessionKey })] })
      const first = accept(one, 'first')
      const waiting = async () => Number((await query(url, waitingSql))[0]?.['n'])
      await expect.poll(waiting).toBe(1)
      const second = accept(other, 'second')
      await expect.poll(waiting).toBe(2)
      await holder.query('SELECT pg_advisory_unlock(42)')
      await Promise.all([first, second])
      const claimed = await other.claimRuns({ owner: 'me', max: 9, at: start, leaseMs: 1000 })
      expect(claimed.map(({ id }) => id)).toEqual(['first'])
      await Promise.all([holder.end(), one.close(), other.close()])
    }))

  /** The run `first` is inserted, and committed when the lock 42 is free. */
  const blockingSql = `
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END $$;
    CREATE TRIGGER wait AFTER INSERT ON run FOR EACH ROW WHEN (NEW.id = 'first') EXECUTE FUNCTION wait()`
  const waitingSql = `
    SELECT count(*)::int AS n FROM pg_locks
    WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
})

describe('a lease', () => {
  it('expires by the clock of the database, whatever the clock of a gateway says', async () => {
    const store = await openOnce()
    const id = randomUUID()
    await store.accept({ at: Date.now(), runs: [newRun({ id, sessionKey: id })] })
    const claimed = await store.claimRuns({ owner: 'one', max: 100, at: Date.now(), leaseMs: 30_000 })
    const { fencingToken } = claimed.find((run) => run.id === id) as StoredRun
    const now = Date.now
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 50_000)
    onTestFinished(() => clock.mockRestore())
    await store.recoverExpiredRuns(Date.now())
    expect(await store.getRun(id)).toMatchObject({ status: 'running', fencingToken })
    const later = Date.now() + 31_000
    await store.recoverExpiredRuns(later)
    expect(await store.getRun(id)).toMatchObject({ status: 'queued' })
  })
})

describe('the URL', () => {
  it('may leave out the password, which libpq reads from PGPASSWORD', async () => {
    const url = new URL(database.url)
    vi.stubEnv('PGPASSWORD', url.password)
    onTestFinished(() => void vi.unstubAllEnvs())
    url.password = ''
    const store = await open(url.href)
    expect(await store.getState('nobody', 'nothing')).toBeUndefined()
    await store.close()
  })

  it('requires TLS with sslmode=require, and not with sslmode=disable', async () => {
    await expect(open(`${database.url}?sslmode=require`)).rejects.toThrow('The server does not support SSL connections')
    await (await open(`${database.url}?sslmode=disable`)).close()
  })
})

describe('a text', () => {
  it('with a NUL character is stored with a replacement', async () => {
    const store = await openOnce()
    const sessionKey = randomUUID()
    await store.accept({ at: start, events: [newEvent({ sessionKey, text: 'a\0b' })] })
    const [event] = await store.listWaitingEvents(sessionKey, { count: 1, characters: 100 })
    expect(event?.text).toBe('a\uFFFDb')
  })
})

describe('a database that cannot be used', () => {
  it('is refused with its reason, without the password', async () => {
    const url = new URL(database.url)
    url.password = 'a-wrong-password'
    const error = await open(url.href).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'store_unavailable',
      message:
        'The PostgreSQL database of storage.url cannot be used: password authentication failed for user "postgres".',
    })
  })

  it('refuses calls while the server is killed and connections log in', async () => {
    const proxy = await startDatabaseProxy(database.url)
    const store = await open(proxy.url)
    proxy.endConnections()
    const unavailable = { code: 'store_unavailable' }
    for (let tries = 0; tries < 3; tries++) {
      await expect(store.getRun('any')).rejects.toMatchObject(unavailable)
      await expect(store.accept({ at: start, runs: [newRun()] })).rejects.toMatchObject(unavailable)
    }
    proxy.close()
    await store.close()
  })

  it('is refused when nothing listens', async () => {
    await expect(open('postgres://nobody@127.0.0.1:1/none')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

describe('the space of the store', () => {
  it('is the size of its tables', async () => {
    const store = await openOnce()
    const before = await store.getSpace()
    // A text that repeats itself would be compressed into a page that there is already.
    const body = randomBytes(300_000).toString('base64')
    await store.accept({ at: start, request: newRequest({ body }) })
    const after = await store.getSpace()
    expect(before.bytes).toBeGreaterThan(0)
    expect(after.bytes).toBeGreaterThan(before.bytes)
  })
})
