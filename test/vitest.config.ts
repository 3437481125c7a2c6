// How the tests run: from source, each file in a process of its own, long loops apart.
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: join(import.meta.dirname, '..'),
  resolve: { conditions: ['svc-gateway-source'] },
  ssr: { resolve: { conditions: ['svc-gateway-source'] } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/long/**', 'test/fixtures/**'],
    pool: 'forks',
    // Most tests wait for something, so there are more at once than a small machine has cores.
    maxWorkers: 4,
    execArgv: ['--conditions=svc-gateway-source'],
    // Of the processes that tests start only the first compiles.
    env: { XDG_CACHE_HOME: join(import.meta.dirname, '..', 'node_modules', '.cache') },
    // What lies outside the project (plugins that a test has installed) is imported by Node itself, as in real life.
    server: { deps: { external: [new RegExp(`^(?!${RegExp.escape(join(import.meta.dirname, '..'))}/)`)] } },
    deps: { interopDefault: false },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 10_000, interval: 10 } },
  },
})
