// The locks of a PostgreSQL store: accepts overlap with each other, and with nothing else.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import type { Store } from '../../../core/store/store.ts'
import { newRun, start } from '../../contracts/store-samples.ts'
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
