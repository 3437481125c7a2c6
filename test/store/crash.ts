// Kills a process in a loop and checks that every acknowledged run is stored completely.
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'vitest'
import { openStore } from './open-store.ts'
import { silent, startAcknowledging, url } from './acknowledging.ts'

export interface CrashLoop {
  dir: string
  cycles: number
  /** A number from 0 to 1. */
  random: () => number
  /** The longest time that a process lives after its first acknowledgement. */
  lifeMs: number
}

/** @returns how many ids were acknowledged in all. */
export async function crashRepeatedly({ dir, cycles, random, lifeMs }: CrashLoop): Promise<number> {
  const acknowledged: string[] = []
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const { child, acknowledged: printed, firstOne, ended } = startAcknowledging(dir)
    await firstOne
    await wait(random() * lifeMs)
    child.kill('SIGKILL')
    await ended
    expect(printed()).not.toHaveLength(0)
    acknowledged.push(...printed())
    await expectComplete(dir, acknowledged)
  }
  return acknowledged.length
}

async function expectComplete(dir: string, acknowledged: readonly string[]): Promise<void> {
  const store = await openStore({ url, dir, log: silent })
  await store.close()
  const db = new DatabaseSync(join(dir, 'state/gateway.db'), { readOnly: true })
  const ids = (table: string) =>
    new Set(
      db
        .prepare(`SELECT id FROM ${table}`)
        .all()
        .map(({ id }) => String(id)),
    )
  const runs = ids('run')
  expect(acknowledged.filter((id) => !runs.has(id))).toEqual([])
  expect(ids('event')).toEqual(runs)
  expect(ids('request')).toEqual(runs)
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  db.close()
}

/** A random number generator: the same seed gives the same numbers from 0 to 1. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
