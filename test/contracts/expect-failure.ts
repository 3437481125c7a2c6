// For tests of the suites: a check that must find a fault.
import { inspect } from 'node:util'
import { expect } from 'vitest'
import { type Check, runCheck } from './check.ts'

/** Expects that the check of this name fails, with a sentence that says what to do and with `detail`. */
export async function expectFailure(checks: readonly Check[], name: string, detail = /./): Promise<void> {
  const check = checks.find((check) => check.name === name)
  if (!check) throw new Error(`There is no check "${name}": ${checks.map(({ name }) => name).join('; ')}`)
  const error: unknown = await runCheck(check).catch((error: unknown) => error)
  expect(error).toMatchObject({ message: expect.stringMatching(/^[A-Z].*\.\n/) })
  // A difference is not in the message, but beside it.
  expect(inspect(error, { depth: 5 })).toMatch(detail)
}
