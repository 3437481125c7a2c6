// Tells `svc-gateway plugin check --test` over which extensions a suite was run.
import { afterAll, type RunnerTask } from 'vitest'
import { appendRun, reportVariable } from '../../core/cli/plugin/suite-report.ts'
import type { Extension } from '../../core/plugin/plugin.ts'

/** Call it inside the `describe` of a suite. */
export function reportSuite(
  extensions: readonly Pick<Extension, 'kind' | 'name'>[],
  without: readonly string[] = [],
): void {
  const file = process.env[reportVariable]
  if (file === undefined) return
  // oxlint-disable-next-line no-empty-pattern -- vitest accepts no other first parameter
  afterAll(({}, suite) => {
    const passed = suite.tasks.every(hasPassed)
    for (const { kind, name } of extensions) appendRun(file, { kind, name, without, passed })
  })
}

/** A test that was left out has no result. */
const hasPassed = (task: RunnerTask): boolean =>
  task.type === 'suite' ? task.tasks.every(hasPassed) : task.result?.state === 'pass'
