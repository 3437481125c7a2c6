// A check of a contract: the suites run them, and tests run them on faulty extensions.
import { describe, it } from 'vitest'
import type { Extension } from '../../core/plugin/plugin.ts'
import { advise } from './advise.ts'
import { reportSuite } from './report.ts'

export interface Check {
  name: string
  /** What to do if it fails. */
  advice: string
  run(): Promise<void> | void
}

/** The error of a check that fails begins with its advice. */
export const runCheck = ({ advice, run }: Check): Promise<void> => advise(advice, run)

interface Suite {
  checks: readonly Check[]
  /** What the checks leave out. */
  without?: readonly string[] | undefined
  /** What they test beside the extension. */
  also?: readonly Pick<Extension, 'kind' | 'name'>[] | undefined
}

/**
 * Longer than a check waits for what should happen, and than a busy machine takes to start a process: the advice of the
 * check says more than the limit of the runner.
 */
export const checkMs = 60_000

/** Registers the checks of an extension as tests. */
export function describeChecks(
  extension: Pick<Extension, 'kind' | 'name'>,
  { checks, without, also = [] }: Suite,
): void {
  describe(`${extension.kind} ${extension.name}`, () => {
    reportSuite([extension, ...also], without)
    it.each(checks)('$name', { timeout: checkMs }, runCheck)
  })
}
