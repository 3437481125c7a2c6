// The check of a release: the package in an empty folder, the first minute of the documentation, and all licenses.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../.ci/release.ts', import.meta.url))

it('finds a package that installs, starts, answers, and has known licenses', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script])
  expect(stderr).toBe('')
  expect(stdout).toContain('The first minute works: an event was handled, and an agent has replied.')
  expect(stdout).toContain('libsignal has the license GPL-3.0. It is not installed with the package')
})
