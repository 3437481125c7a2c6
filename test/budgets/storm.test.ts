// A small storm of webhooks that is killed once. `test/long/budget-storm.test.ts` has the large ones.
import { inject, it, onTestFinished } from 'vitest'
import { createDatabase } from '../postgres.ts'
import { runStorm } from './storm.ts'

/** Starts up to four processes. */
const timeoutMs = 120_000

it(
  'spends no more than the budget and one call for each run in progress, on SQLite',
  () => runStorm({ gateways: 1, webhooks: 150, kills: 1, calls: 20 }),
  timeoutMs,
)

it(
  'does the same on three gateways that share a PostgreSQL database',
  async () => {
    const database = await createDatabase(inject('postgresUrl'))
    onTestFinished(database.remove)
    await runStorm({ gateways: 3, webhooks: 150, kills: 1, calls: 20, databaseUrl: database.url })
  },
  timeoutMs,
)
