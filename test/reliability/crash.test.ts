// Tests that accepted work survives a crash. test/long/crash.test.ts runs hundreds of crashes.
import { expect, it } from 'vitest'
import { surviveCrashes, surviveCrashesAfterAcks } from './crash-scenarios.ts'

it('loses no accepted work when it is killed under load', async () => {
  const { wakes, runs } = await surviveCrashes({ cycles: 3, clients: 16 })
  expect(wakes).toBeGreaterThan(0)
  expect(runs).toBeGreaterThan(0)
})

it('loses nothing when it is killed at the first byte of a response', async () => {
  await surviveCrashesAfterAcks({ cycles: 3 })
})
