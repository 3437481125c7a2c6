// The locks of a PostgreSQL store: accepts overlap with each other, and with nothing else.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import type { Store } from '../../../core/store/store.ts'
import { newKey, newRun, start } from '../../contracts/store-samples.ts'
import { createDatabase, query } from '../../postgres.ts'
import { silent } from '../acknowledging.ts'
import { openStore } from '../open-store.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
let store: Store

beforeAll(async () => {
  database = await createDatabase(inject('postgresUrl'))
  store = await openStore({ url: database.url, dir: '/nowhere', log: silent })
})
afterAll(async () => {
  await store.close()
  await database.remove()
})

/** Begins a transaction as another gateway would. @returns ends it */
async function holdLock(name: 'pg_advisory_xact_lock' | 'pg_advisory_xact_lock_shared'): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  await client.query(`SELECT ${name}('migration'::regclass::oid::int, 0)`)
  return async () => void (await client.query('COMMIT'))
}

const waitingSql = `
  SELECT count(*)::int AS n FROM pg_locks
  WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

async function untilOneWaits(): Promise<void> {
  await expect.poll(async () => (await query(database.url, waitingSql))[0]?.['n'], { timeout: 10_000 }).toBe(1)
}

const accept = () => store.accept({ at: start, runs: [newRun()] })
const claim = () => store.claimRuns({ owner: 'me', max: 9, at: start, leaseMs: 1000 })

describe('while another gateway accepts', () => {
  it('accepts go on, and a claim waits', async () => {
    const release = await holdLock('pg_advisory_xact_lock_shared')
    expect(await accept()).toEqual({ outcome: 'accepted' })
    const claimed = claim()
    await untilOneWaits()
    await release()
    expect(await claimed).toHaveLength(1)
  })
})

describe('while another gateway claims', () => {
  it.each([
    ['an accept', accept],
    ['a claim', claim],
  ])('%s waits', async (_what, write) => {
    const release = await holdLock('pg_advisory_xact_lock')
    const written = write()
    await untilOneWaits()
    await release()
    await written
  })
})

describe('two gateways that accept the same keys in opposite order', () => {
  it('do not wait for each other in a circle', async () => {
    const own = await createDatabase(inject('postgresUrl'))
    onTestFinished(own.remove)
    const open = () => openStore({ url: own.url, dir: '/nowhere', log: silent })
    const [one, other] = await Promise.all([open(), open()])
    const keys = Array.from({ length: 20 }, (_, n) => newKey({ key: `k${n}` }))
    // Both reach this key, and have written the ones before it.
    const middle = new Client({ connectionString: own.url })
    await middle.connect()
    await middle.query('BEGIN')
    await middle.query(`INSERT INTO idempotency VALUES ('agent', 'k10', '', 0, '')`)
    const acceptAll = (store: Store, own: typeof keys) =>
      own.map((idempotency) => store.accept({ at: start, idempotency }))
    const accepts = [...acceptAll(one, keys), ...acceptAll(other, keys.toReversed())]
    await expect.poll(async () => (await query(own.url, blockedSql))[0]?.['n'], { timeout: 10_000 }).toBe(2)
    await middle.query('ROLLBACK')
    await middle.end()
    const results = await Promise.all(accepts)
    expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(keys.length)
    // A connection reports its deadlocks when it ends.
    await Promise.all([one.close(), other.close()])
    expect(await query(own.url, deadlocksSql)).toEqual([{ n: 0 }])
  })
})

const blockedSql = `
  SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
const deadlocksSql = 'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()'
