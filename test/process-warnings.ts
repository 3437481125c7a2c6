// Collects the warnings of this process, such as too many listeners. Tests must not cause any.
import { expect } from 'vitest'

const warnings: string[] = []
process.on(
  'warning',
  ({ name, message }) => void (name === 'ExperimentalWarning' || warnings.push(`${name}: ${message}`)),
)

/** Fails when the process has emitted a warning since the last call. */
export async function expectNoWarnings(): Promise<void> {
  // Node emits a warning at the end of the current tick.
  await new Promise(setImmediate)
  expect(warnings.splice(0)).toEqual([])
}
