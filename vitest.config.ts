// How the tests run: from source, in child processes of their own, long loops apart.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['svc-gateway-source'] },
  ssr: { resolve: { conditions: ['svc-gateway-source'] } },
  test: { include: ['test/**/*.test.ts'], exclude: ['test/long/**', 'test/fixtures/**'], pool: 'forks', testTimeout: 30_000 },
})
