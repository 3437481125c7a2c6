// The locks of a PostgreSQL store: claims exclude each other, accepts overlap with everything but a copy.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import type { Store } from '../../../core/store/store.ts'
import { newKey, newRun, newStep, start } from '../../contracts/store-samples.ts'
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
async function holdLocks(...locks: string[]): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  for (const lock of locks) await client.query(`SELECT ${lock.replace('?', `'migration'::regclass::oid::int`)}`)
  return async () => void (await client.query('COMMIT'))
}

const waitingSql = `
  SELECT count(*)::int AS n FROM pg_locks
  WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

async function untilOneWaits(): Promise<void> {
  await expect.poll(async () => (await query(database.url, waitingSql))[0]?.['n'], { timeout: 10_000 }).toBe(1)
}

let sessions = 0
const accept = () => store.accept({ at: start, runs: [newRun({ sessionKey: `hook:${(sessions += 1)}` })] })
const claim = () => store.claimRuns({ owner: 'me', max: 9, at: start, leaseMs: 1000 })

const sharedLock = 'pg_advisory_xact_lock_shared(?, 0)'
const workLock = 'pg_advisory_xact_lock(?, 2)'
const copyLock = 'pg_advisory_xact_lock(?, 0)'

describe('while another gateway accepts', () => {
  it('accepts and claims go on', async () => {
    const release = await holdLocks(sharedLock)
    expect(await accept()).toEqual({ outcome: 'accepted' })
    expect(await claim()).toHaveLength(1)
    await release()
  })
})

describe('while another gateway claims', () => {
  it('accepts, renewals and steps go on, and a claim waits', async () => {
    const [run] = await accept().then(claim)
    if (!run) throw new Error('No run was claimed.')
    const release = await holdLocks(sharedLock, workLock)
    expect(await accept()).toEqual({ outcome: 'accepted' })
    expect(await store.renewRun(run, start + 2000)).toBe('renewed')
    expect(await store.recordSteps(run, { steps: [newStep()], count: 1 })).toBe(true)
    const claimed = claim()
    await untilOneWaits()
    await release()
    expect(await claimed).toHaveLength(1)
  })
})

describe('while another gateway takes over a run', () => {
  it('a step of its holder waits, and is not stored', async () => {
    const [run] = await accept().then(claim)
    if (!run) throw new Error('No run was claimed.')
    const client = new Client({ connectionString: database.url })
    await client.connect()
    onTestFinished(() => client.end())
    await client.query('BEGIN')
    await client.query(`UPDATE run SET status = 'queued', owner = NULL WHERE id = $1`, [run.id])
    const recorded = store.recordSteps(run, { steps: [newStep()], count: 1 })
    await expect.poll(async () => (await query(database.url, blockedSql))[0]?.['n'], { timeout: 10_000 }).toBe(1)
    await client.query('COMMIT')
    expect(await recorded).toBe(false)
    expect(await store.readSteps(run.id)).toEqual([])
    expect(await store.getRun(run.id)).toMatchObject({ steps: 0 })
  })
})

describe('while the store is copied', () => {
  it.each([
    ['an accept', accept],
    ['a claim', claim],
  ])('%s waits', async (_what, write) => {
    const release = await holdLocks(copyLock)
    const written = write()
    await untilOneWaits()
    await release()
    await written
  })
})

describe('two gateways that accept and end runs of the same sessions in opposite order', () => {
  it('do not wait for each other in a circle', async () => {
    const own = await createDatabase(inject('postgresUrl'))
    onTestFinished(own.remove)
    const open = () => openStore({ url: own.url, dir: '/nowhere', log: silent })
    const [one, other] = await Promise.all([open(), open()])
    const keys = Array.from({ length: 20 }, (_, n) => `hook:s${String(n).padStart(2, '0')}`)
    const acceptIn = (to: Store, sessionKey: string) => to.accept({ at: start, runs: [newRun({ sessionKey })] })
    await Promise.all(keys.map((key) => acceptIn(one, key)))
    const runs = await one.claimRuns({ owner: 'one', max: 20, at: start, leaseMs: 60_000 })
    expect(runs).toHaveLength(20)
    // Both transactions reach the row of this session, and may have written others before it.
    const middle = new Client({ connectionString: own.url })
    await middle.connect()
    await middle.query('BEGIN')
    await middle.query(`SELECT 1 FROM session WHERE key = 'hook:s10' FOR UPDATE`)
    const end = { at: start + 2, status: 'succeeded', result: {}, transcript: [], events: [], deliveries: [] } as const
    const written = [
      ...runs.map((run) => one.endRun(run, { ...end, eventsRendered: true })),
      ...keys.toReversed().map((key) => other.accept({ at: start + 3, runs: [newRun({ sessionKey: key })] })),
    ]
    await expect.poll(async () => (await query(own.url, blockedSql))[0]?.['n'], { timeout: 10_000 }).toBe(2)
    await middle.query('ROLLBACK')
    await middle.end()
    await Promise.all(written)
    await Promise.all([one.close(), other.close()])
    expect(await query(own.url, deadlocksSql)).toEqual([{ n: 0 }])
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
