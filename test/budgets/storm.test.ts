// A small storm of webhooks that is killed once. `test/long/budget-storm.test.ts` has the large ones, also on SQLite.
import { inject, it, onTestFinished } from 'vitest'
import { createDatabase } from '../postgres.ts'
import { runStorm } from './storm.ts'

// It starts four processes.
it(
  'three gateways spend no more than the budget and one call for each run in progress',
  { timeout: 120_000 },
  async () => {
    const database = await createDatabase(inject('postgresUrl'))
    onTestFinished(database.remove)
    await runStorm({ gateways: 3, webhooks: 90, kills: 1, calls: 20, databaseUrl: database.url })
  },
)
