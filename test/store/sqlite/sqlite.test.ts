// The SQLite store: the contract of all stores, and what is specific to SQLite.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connect } from '../../../core/store/sqlite/connection.ts'
import { defaultLimits } from '../../../core/store/group-commit.ts'
import { keepOpen, openStore } from '../open-store.ts'
import type { PurgePositions, Store } from '../../../core/store/store.ts'
import { storeContract } from '../../contracts/store.ts'
import { newRequest, newRun, start } from '../../contracts/store-samples.ts'
import { silent, url } from '../acknowledging.ts'

describe('the SQLite store as', () => {
  let dir: string
  const open = keepOpen(() => openStore({ url, dir, log: silent }))
  beforeAll(async () => void (dir = await mkdtemp(join(tmpdir(), 'store-'))))
  afterAll(async () => {
    await (await open()).close()
    await rm(dir, { recursive: true })
  })

  storeContract(async () => ({ open, remove: async () => emptyTables(join(dir, 'state/gateway.db')) }))
})

describe('the SQLite store', () => {
  let dir: string
  let store: Store
  let workers: Worker[]
  const collect = (worker: Worker) => void workers.push(worker)
  const logged: string[] = []
  const log = {
    ...silent,
    error: (_: object, message: string) => void logged.push(message),
    info: (_: object, message: string) => void logged.push(message),
  }

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'store-'))
    workers = []
    process.on('worker', collect)
    store = await openStore({ url, dir, log })
  })
  afterEach(async () => {
    process.off('worker', collect)
    await store.close()
    await rm(dir, { recursive: true })
  })

  const accept = (n: number) => store.accept({ at: start, runs: [newRun({ id: `run-${n}` })] })
  const acceptMany = (count: number) => Promise.allSettled(Array.from({ length: count }, (_, n) => accept(n)))

  it('syncs each commit to the disk before it is acknowledged', async () => {
    const { tx, close } = await connect(join(dir, 'own.db'))
    const valueOf = async (pragma: string) => Object.values((await tx.all<object>(`PRAGMA ${pragma}`))[0] ?? {})[0]
    const names = ['journal_mode', 'synchronous', 'fullfsync', 'checkpoint_fullfsync', 'wal_autocheckpoint']
    expect(await Promise.all(names.map(valueOf))).toEqual(['wal', 2, 1, 1, 0])
    await close()
  })

  it('commits at least a group and at most 256 calls in one transaction', async () => {
    const before = await commitsIn(join(dir, 'state/gateway.db-wal'))
    await acceptMany(600)
    const commits = (await commitsIn(join(dir, 'state/gateway.db-wal'))) - before
    expect(commits).toBeGreaterThanOrEqual(Math.ceil(600 / 256))
    expect(commits).toBeLessThanOrEqual(Math.ceil(600 / defaultLimits.groupSize))
  })

  it('checkpoints the log while calls are written', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(250_000) })
    for (let round = 0; round < 40; round++) {
      await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          store.accept({ at: start, request: newRequest({ id: `delivery-${round}-${n}`, body }) }),
        ),
      )
    }
    expect((await stat(join(dir, 'state/gateway.db'))).size).toBeGreaterThan(40e6)
  })

  it('rejects the calls in flight when its thread dies, and continues with another thread', async () => {
    const other = new DatabaseSync(join(dir, 'state/gateway.db'))
    other.exec('BEGIN IMMEDIATE')
    const outcomes = acceptMany(5)
    await new Promise((resolve) => setImmediate(resolve))
    const ended = workers[0]?.terminate()
    other.close()
    await ended
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'store_unavailable', retryAfter: 1 } })
    expect(await accept(100)).toEqual({ outcome: 'accepted' })
    expect(workers).toHaveLength(2)
    await expect.poll(() => logged).toEqual(['the store cannot be written', 'the store can be written again'])
    await expect(openStore({ url, dir, log })).rejects.toThrow('is in use')
  })

  it('refuses new work, but no calls for accepted work, when too many calls are waiting', async () => {
    const accepts = acceptMany(2001)
    const inner = store.countQueuedRuns()
    const refused = (await accepts).filter(({ status }) => status === 'rejected')
    expect(refused).toMatchObject([{ reason: { code: 'store_unavailable', retryAfter: 1 } }])
    expect(await inner).toBe(2000)
    expect(await accept(3000)).toEqual({ outcome: 'accepted' })
  })

  it('returns space to the disk in small steps after a purge', async () => {
    const body = 'x'.repeat(100_000)
    await Promise.all(Array.from({ length: 30 }, () => store.accept({ at: start, request: newRequest({ body }) })))
    const full = await store.getSpace()
    expect(full.bytes - full.free).toBeGreaterThan(3_000_000)
    for (let next: PurgePositions | undefined, isDone = false; !isDone; isDone = next === undefined)
      ({ next } = await store.purge({ before: start + 1000, from: next }))
    const purged = await store.getSpace()
    expect(purged.bytes - purged.free).toBeLessThan(1_000_000)
    await store.reclaimSpace(1_000_000)
    const some = await store.getSpace()
    expect(purged.bytes - some.bytes).toBeGreaterThan(900_000)
    expect(purged.bytes - some.bytes).toBeLessThan(1_200_000)
    await store.reclaimSpace(some.free)
    expect((await store.getSpace()).free).toBe(0)
  })

  it('survives a command that cannot be cloned', async () => {
    const unclonable = { at: start, runs: [{ ...newRun(), id: (() => 'a function') as never }] }
    await expect(store.accept(unclonable)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(await accept(1)).toEqual({ outcome: 'accepted' })
  })

  it('commits what is waiting before it closes', async () => {
    const accepted = acceptMany(300)
    await store.close()
    expect((await accepted).every(({ status }) => status === 'fulfilled')).toBe(true)
    store = await openStore({ url, dir, log })
    expect(await store.countQueuedRuns()).toBe(300)
  })
})

function emptyTables(path: string): void {
  const db = new DatabaseSync(path, { timeout: 5000 })
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'migration'").all()
  db.exec(tables.map(({ name }) => `DELETE FROM "${String(name)}";`).join(''))
  db.close()
}

/** Counts the commits in a write-ahead log: frames whose header contains the size of the database. */
async function commitsIn(path: string): Promise<number> {
  const log = await readFile(path)
  const frame = 24 + (log.length > 0 ? log.readUInt32BE(8) : 0)
  const salt = log.subarray(16, 24)
  let commits = 0
  for (let at = 32; at + frame <= log.length && log.subarray(at + 8, at + 16).equals(salt); at += frame)
    commits += log.readUInt32BE(at + 4) > 0 ? 1 : 0
  return commits
}
