// Compares the table of mutants in docs/internals/plugin-suites.md with the mutants of a test.
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'

/** An extension with a fault, and the checks that find it. */
export type Mutant = readonly [fault: string, ...checks: readonly string[]]

const page = readFileSync(new URL('../../docs/internals/plugin-suites.md', import.meta.url), 'utf8')

/** @param checks those of the suite, with their sentences */
export function expectTable(
  section: string,
  mutants: readonly Mutant[],
  checks: readonly { name: string; advice: string }[],
): void {
  const adviceOf = (name: string) => checks.find((check) => check.name === name)?.advice
  const rows = mutants.map(([fault, check = '']) => `| ${fault} | ${check} | ${adviceOf(check)} |`)
  const [, table = ''] = page.split(`## ${section}\n`)
  expect(
    table
      .split('\n## ', 1)[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| ')),
  ).toEqual(['| A fault | is found by the check | which says |', ...rows])
}
