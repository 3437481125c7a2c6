// Runs the store's crash loop for two hundred kills, with a new store after each twenty to keep checks fast.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { chooseSeed } from '../config/random.ts'
import { crashRepeatedly, createRandom } from '../store/crash.ts'

it.each(Array.from({ length: 10 }, (_, round) => round))(
  'loses no acknowledged work in twenty kills, round %i',
  async (round) => {
    const random = createRandom(chooseSeed() + round)
    const dir = await mkdtemp(join(tmpdir(), 'store-crash-'))
    try {
      const acknowledged = await crashRepeatedly({ dir, cycles: 20, random, lifeMs: 500 })
      console.info(`${acknowledged} acknowledged, none lost`)
      expect(acknowledged).toBeGreaterThan(0)
    } finally {
      await rm(dir, { recursive: true })
    }
  },
)
