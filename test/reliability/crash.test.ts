// What a 200 promises, when the process dies under it: a few crashes here, hundreds in test/long/crash.test.ts.
import { expect, it } from 'vitest'
import { surviveCrashes, surviveCrashesAfterAcks } from './crash-scenarios.ts'

it('loses nothing that it accepted when it is killed under load', async () => {
  const { wakes, runs } = await surviveCrashes({ cycles: 6, clients: 16 })
  expect(wakes).toBeGreaterThan(0)
  expect(runs).toBeGreaterThan(0)
})

it('loses nothing when it is killed at the first byte of an answer', async () => {
  await surviveCrashesAfterAcks({ cycles: 5 })
})
