// Crashes: kill -9 while accepting, and a truncated write-ahead log.
import { cp, mkdtemp, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from './open-store.ts'
import { connect } from '../../core/store/sqlite/connection.ts'
import { newRun, start } from '../contracts/store-samples.ts'
import { silent, url } from './acknowledging.ts'
import { chooseSeed } from '../config/random.ts'
import { crashRepeatedly, createRandom } from './crash.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'store-crash-'))
})
afterEach(() => rm(dir, { recursive: true }))

describe('kill -9 while accepting', () => {
  it('loses no acknowledged run and leaves no transaction half-done', async () => {
    const random = createRandom(chooseSeed())
    expect(await crashRepeatedly({ dir, cycles: 6, random, lifeMs: 120 })).toBeGreaterThan(0)
  })
})

describe('a truncated write-ahead log', () => {
  it('opens at every length, and keeps every record before the cut', async () => {
    const store = await openStore({ url, dir, log: silent })
    const ids = Array.from({ length: 40 }, (_, n) => `run-${String(n).padStart(2, '0')}`)
    for (const id of ids) await store.accept({ at: start, runs: [newRun({ id })] })
    await cp(join(dir, 'state'), join(dir, 'complete'), { recursive: true })
    await store.close()

    const { size } = await stat(join(dir, 'complete/gateway.db-wal'))
    const kept: number[] = []
    for (const length of cutLengths(size, createRandom(chooseSeed()))) {
      await cp(join(dir, 'complete'), join(dir, 'cut'), { recursive: true })
      await truncate(join(dir, 'cut/gateway.db-wal'), length)
      const found = await idsIn(join(dir, 'cut/gateway.db'))
      expect(found).toEqual(ids.slice(0, found.length))
      kept.push(found.length)
      await rm(join(dir, 'cut'), { recursive: true })
    }
    expect(kept).toEqual(kept.toSorted((a, b) => a - b))
    expect(kept.at(0)).toBe(0)
    expect(kept.at(-2)).toBe(ids.length - 1)
    expect(kept.at(-1)).toBe(ids.length)
  })
})

/** Lengths from 0 to the whole log, with the first header and the last byte among them. */
const cutLengths = (size: number, random: () => number): number[] =>
  [0, 1, 31, 32, 33, size - 1, size, ...Array.from({ length: 60 }, () => Math.floor(random() * size))].toSorted(
    (a, b) => a - b,
  )

async function idsIn(path: string): Promise<string[]> {
  const connection = await connect(path)
  const rows = await connection.tx.all<{ id: string }>('SELECT id FROM run ORDER BY seq')
  await connection.close()
  return rows.map(({ id }) => id)
}
