// The configuration for the tests through HTTP with a PostgreSQL database for each gateway: `npm run test:postgres`.
import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

const folders = 'agents,approvals,budgets,control,delivery,hooks,http,page,presets,providers,runs,schedules,sessions'
const include = [`test/{${folders},telemetry,tools}/**/*.test.ts`, 'test/{outage,reconnect,reload}.test.ts']

/** They read the file of SQLite, set a clock that the database does not follow, or start a process themselves. */
const onlySqlite = [
  'approvals/callers',
  'budgets/budgets',
  'budgets/storm',
  'budgets/windows',
  'control/clients',
  'control/usage',
  'control/ws/log',
  'delivery/inbound/pairing',
  'hooks/dry-run',
  'presets/repeats',
  'runs/clock',
  'schedules/heartbeat',
  'schedules/schedules',
]

const config = mergeConfig(base, { test: { env: { TEST_ENGINE: 'postgres' } } })

const exclude = onlySqlite.map((name) => `test/${name}.test.ts`)

export default defineConfig({ ...config, test: { ...config.test, include, exclude } })
