// Tests a few random sequences of `test/long/provenance.test.ts`, which runs thousands of them.
import { expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { createSequence } from './provenance-sequence.ts'
import { runSequences } from './provenance-world.ts'

it('lets no turn do more than the least trusted author of what it sees, in a few random sequences', async () => {
  const sequences = [1, 2, 3].map((seed) => createSequence(seed, 8))
  const report = await runSequences(await startModel(), sequences)
  expect(report.violations).toEqual([])
  expect(report.made).toBeGreaterThan(0)
})
