// Tests hundreds of crashes under load and hundreds during a response. SEED= repeats the pace of a run.
import { expect, it } from 'vitest'
import { surviveCrashes, surviveCrashesAfterAcks } from '../reliability/crash-scenarios.ts'

it('loses no accepted work in 200 crashes under load', async () => {
  const { wakes, runs } = await surviveCrashes({ cycles: 200, clients: 16 })
  expect(wakes).toBeGreaterThan(5000)
  expect(runs).toBeGreaterThan(500)
})

it('loses nothing in 500 crashes at the first byte of a response', async () => {
  await surviveCrashesAfterAcks({ cycles: 500 })
})
