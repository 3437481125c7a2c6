// What the shared suites tell `plugin check --test`: over which extensions they were run, and how that ended.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { Extension } from '../../plugin/plugin.ts'

/** One run of a suite. */
export interface SuiteRun {
  kind: Extension['kind']
  name: string
  /** What the tests left out. */
  without: readonly string[]
  /** Whether each test of the suite was run and passed. */
  passed: boolean
}

/** The environment variable that names the file of the report, which has one line of JSON for each run. */
export const reportVariable = 'SVC_GATEWAY_SUITE_REPORT'

export const appendRun = (file: string, run: SuiteRun): void => appendFileSync(file, `${JSON.stringify(run)}\n`)

export const readRuns = (file: string): SuiteRun[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as SuiteRun)
    : []
