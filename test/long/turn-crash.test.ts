// Kills gateways hundreds of times within turns that call tools. SEED= repeats the pace of a run.
import { expect, inject, it } from 'vitest'
import { createDatabase } from '../postgres.ts'
import { surviveCrashesInTurns } from '../reliability/turn-crashes.ts'

// Of thousands of runs, some are killed twice before their first call is over: they have five attempts, not two.
const kills = Number(process.env['KILLS'] ?? 500)
/** On a busy machine, a killed gateway takes seconds to start again. */
const timeout = kills * 15_000

it('makes no completed call again when one gateway is killed within turns', { timeout }, async () => {
  const survived = await surviveCrashesInTurns({ kills, lifeMs: 1_200, maxAttempts: 5 })
  console.log(survived)
  expect(survived.runs).toBeGreaterThan(kills)
})

it('makes no completed call again when two gateways on PostgreSQL are killed within turns', { timeout }, async () => {
  const database = await createDatabase(inject('postgresUrl'))
  const survived = await surviveCrashesInTurns({
    kills,
    databaseUrl: database.url,
    gateways: 2,
    lifeMs: 1_200,
    maxAttempts: 5,
  })
  console.log(survived)
  expect(survived.runs).toBeGreaterThan(kills / 2)
  await database.remove()
})
