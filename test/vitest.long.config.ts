// The configuration for tests that take minutes: crashes, fuzzing, timing. `npm run test:long` runs them in sequence.
import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

const config = mergeConfig(base, {
  // Each file in a process of its own, because some measure memory and time.
  test: { isolate: true, fileParallelism: false, testTimeout: 30 * 60_000, hookTimeout: 10 * 60_000 },
})

export default defineConfig({ ...config, test: { ...config.test, include: ['test/long/**/*.test.ts'], exclude: [] } })
