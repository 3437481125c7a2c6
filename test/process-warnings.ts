// Collects the warnings of this process, such as one of too many listeners: nothing in a test may cause any.
import { expect } from 'vitest'

const warnings: string[] = []
process.on(
  'warning',
  ({ name, message }) => void (name === 'ExperimentalWarning' || warnings.push(`${name}: ${message}`)),
)

/** Fails when the process has warned of anything since the last call. */
export async function expectNoWarnings(): Promise<void> {
  // A warning is emitted at the end of the current turn.
  await new Promise(setImmediate)
  expect(warnings.splice(0)).toEqual([])
}
