// Sends 10 000 signed webhooks while gateways are killed: a budget is exceeded by one call for each run in progress at
// most.
import { inject, it, onTestFinished } from 'vitest'
import { runStorm } from '../budgets/storm.ts'
import { createDatabase } from '../postgres.ts'

it('on one gateway', () => runStorm({ gateways: 1, webhooks: 10_000, kills: 5, calls: 1000 }))

it('on three gateways that share a PostgreSQL database', async () => {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  await runStorm({ gateways: 3, webhooks: 10_000, kills: 5, calls: 1000, databaseUrl: database.url })
})
