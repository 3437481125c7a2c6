// The long form of the crash loop: hundreds of kills on one store.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { announceSeed, crashAgainAndAgain, createRandom } from '../store/crash.ts'

it('loses nothing that was acknowledged in two hundred kills', { timeout: 900_000 }, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'store-crash-'))
  try {
    const random = createRandom(announceSeed())
    const acknowledged = await crashAgainAndAgain({ dir, cycles: Number(process.env['CYCLES'] ?? 200), random, lifeMs: 500 })
    console.info(`${acknowledged} acknowledged, none lost`)
    expect(acknowledged).toBeGreaterThan(0)
  } finally {
    await rm(dir, { recursive: true })
  }
})
