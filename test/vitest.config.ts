// The test configuration: tests run from source, each file in its own process, without the long tests.
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: join(import.meta.dirname, '..'),
  resolve: { conditions: ['svc-gateway-source'] },
  ssr: { resolve: { conditions: ['svc-gateway-source'] } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/long/**', 'test/fixtures/**'],
    globalSetup: ['test/program.ts'],
    pool: 'forks',
    // Most tests wait, so more files run at once than the machine has cores.
    maxWorkers: 4,
    execArgv: ['--conditions=svc-gateway-source'],
    // Lets the processes that tests start share compiled code.
    env: { XDG_CACHE_HOME: join(import.meta.dirname, '..', 'node_modules', '.cache') },
    // Node itself imports files outside the project, such as plugins that a test has installed.
    server: { deps: { external: [new RegExp(`^(?!${RegExp.escape(join(import.meta.dirname, '..'))}/)`)] } },
    deps: { interopDefault: false },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 10_000, interval: 10 } },
  },
})
