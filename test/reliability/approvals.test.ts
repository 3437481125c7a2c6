// Tests that gateways that are killed while calls wait for approvals make each approved call once.
import { expect, inject, it } from 'vitest'
import { createDatabase } from '../postgres.ts'
import { surviveCrashesOfApprovals } from './approval-crashes.ts'

it('makes no approved call twice, and none unapproved, when one gateway is killed', async () => {
  const survived = await surviveCrashesOfApprovals({ kills: 3 })
  expect(survived.approved).toBeGreaterThan(0)
}, 120_000)

it('makes no approved call twice, and none unapproved, when one of two gateways is killed', async () => {
  const database = await createDatabase(inject('postgresUrl'))
  const survived = await surviveCrashesOfApprovals({ kills: 2, databaseUrl: database.url, gateways: 2 })
  expect(survived.approved).toBeGreaterThan(0)
  await database.remove()
}, 120_000)
