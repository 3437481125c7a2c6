// A reporter that leaves one line, `N passed, N failed`, for the end of .ci/run. A file that could not be run counts as
// a failure.
import { rmSync, writeFileSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

const file = 'node_modules/.tally'

/** The runner calls it with `new`; what it returns is the reporter. */
export default function createTally(): Reporter {
  return {
    onInit: () => rmSync(file, { force: true }),
    onTestRunEnd(modules, errors) {
      const states = modules.flatMap((module) => [...module.children.allTests()]).map((test) => test.result().state)
      const passed = states.filter((state) => state === 'passed').length
      const brokenFiles = modules.filter((module) => module.errors().length > 0).length
      writeFileSync(file, `${passed} passed, ${states.length - passed + brokenFiles + errors.length} failed\n`)
    },
  }
}
