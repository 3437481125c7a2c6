// Hundreds of crashes under load, and hundreds at the very moment of an answer. SEED= repeats the pace of a run.
import { expect, it } from 'vitest'
import { surviveCrashes, surviveCrashesAfterAcks } from '../reliability/crash-scenarios.ts'

it('loses nothing that it accepted in 200 crashes under load', async () => {
  const { wakes, runs } = await surviveCrashes({ cycles: 200, clients: 16 })
  expect(wakes).toBeGreaterThan(5000)
  expect(runs).toBeGreaterThan(500)
})

it('loses nothing in 500 crashes at the first byte of an answer', async () => {
  await surviveCrashesAfterAcks({ cycles: 500 })
})
