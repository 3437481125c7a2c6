// Kills gateways hundreds of times while calls wait for approvals and are made. SEED= repeats the pace of a run.
import { expect, inject, it } from 'vitest'
import { createDatabase } from '../postgres.ts'
import { surviveCrashesOfApprovals } from '../reliability/approval-crashes.ts'

const kills = Number(process.env['KILLS'] ?? 300)

it('makes no approved call twice, and none unapproved, when one gateway is killed', async () => {
  const survived = await surviveCrashesOfApprovals({ kills })
  console.log(survived)
  expect(survived.approved).toBeGreaterThan(kills)
})

it('makes no approved call twice, and none unapproved, when two gateways on PostgreSQL are killed', async () => {
  const database = await createDatabase(inject('postgresUrl'))
  const survived = await surviveCrashesOfApprovals({ kills, databaseUrl: database.url, gateways: 2 })
  console.log(survived)
  expect(survived.approved).toBeGreaterThan(kills / 2)
  await database.remove()
})
