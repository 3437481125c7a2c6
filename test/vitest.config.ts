// The test configuration: tests run from source, without the long tests.
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const root = join(import.meta.dirname, '..')
const cache = join(root, 'node_modules', '.cache')

/** The slowest files. They start first, so that no worker is still busy with one when the others have nothing left. */
const slow = [
  'reliability/replicas',
  'store/postgres/server-faults',
  'telemetry/traces',
  'store/postgres/postgres',
  'reload',
  'reliability/steps',
  'page/hostile',
  'reliability/retry',
  'reliability/approvals',
  'cli/plugin-check',
  'cli/plugin-new',
  'cli/plugin-packages',
  'presets/fields',
  'page/config',
  'cli/restore-hostile',
  'page/roles',
  'cli/setup',
  'page/workbench',
  'cli/check',
  'cli/replay',
  'cli/store-migrate-crash',
  'cli/gmail-setup',
  'page/views',
  'cli/inspect',
  'docs-examples',
  'cli/plugin-commands',
  'cli/watch',
  'sandbox/reload',
  'reliability/overload',
  'presets/gmail/exactly-once',
  'cli/transform',
  'store/sqlite/sqlite',
  'docs-start',
  'page/home',
  'budgets/storm',
  'presets/presets',
].map((name) => join(root, 'test', `${name}.test.ts`))

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = slow.indexOf(moduleId)
      return index === -1 ? slow.length : index
    }
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  root,
  resolve: { conditions: ['svc-gateway-source'] },
  ssr: { resolve: { conditions: ['svc-gateway-source'] } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/long/**', 'test/fixtures/**'],
    globalSetup: ['test/program.ts', 'test/database-server.ts'],
    pool: 'forks',
    // A process runs many files, so that it loads the gateway once. Tests restore what they change in their process.
    isolate: false,
    // Most tests wait, so more files run at once than the machine has cores.
    maxWorkers: 7,
    sequence: { sequencer: SlowFirst },
    execArgv: ['--conditions=svc-gateway-source', '--import', join(root, 'test', 'store-thread.ts')],
    // Lets the processes and threads that tests start share compiled code.
    env: { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: join(cache, 'tests') },
    // Node itself imports everything but the tests, as it does when the gateway runs. This is also faster.
    server: { deps: { external: [/(?<!\.test)\.ts$/, new RegExp(`^(?!${RegExp.escape(root)}/)`)] } },
    deps: { interopDefault: false },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { requireAssertions: true, poll: { timeout: 20_000, interval: 20 } },
  },
})
