// The command line as users run it: the build, which the global setup brings up to date before the first test.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const program = fileURLToPath(new URL('../dist/main.js', import.meta.url))

/** The global setup of vitest. */
export default function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL('../.ci/build.ts', import.meta.url)), '--if-stale'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
