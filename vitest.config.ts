// How the tests run: from source, each file in a process of its own, long loops apart.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['svc-gateway-source'] },
  ssr: { resolve: { conditions: ['svc-gateway-source'] } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/long/**', 'test/fixtures/**'],
    pool: 'forks',
    execArgv: ['--conditions=svc-gateway-source'],
    // What lies outside the project (plugins that a test has installed) is imported by Node itself, as in real life.
    server: { deps: { external: [new RegExp(`^(?!${RegExp.escape(import.meta.dirname)}/)`)] } },
    deps: { interopDefault: false },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 10_000, interval: 10 } },
  },
})
