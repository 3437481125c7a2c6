// Tests that gateways that are killed while calls wait for approvals make each approved call once.
import { expect, inject, it, onTestFinished } from 'vitest'
import { createLaunchPad, plugins } from '../approvals/launch-pad.ts'
import { startModel } from '../doubles/model.ts'
import { ask, gatewayToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { createDatabase } from '../postgres.ts'
import { surviveCrashesOfApprovals } from './approval-crashes.ts'
import { ended, get, post } from './process.ts'

const byRuleOfTwo = { allow: ['group:pad'], byOrigin: { hook: { beyondRuleOfTwo: 'ask' } } }

it.each([
  ['the policy', 'launch', {}],
  ['the rule of two', 'post_outside', { tools: byRuleOfTwo }],
])('makes a call that %s asks for once, although its gateway is killed during it', async (_who, tool, changes) => {
  const [model, dir] = [await startModel(), temporaryFolder()]
  const pad = createLaunchPad(dir)
  model.script({ tool: 'read_secret', args: {} }, { tool, args: { ms: 600_000 } }, { text: 'Done.' })
  const file = writeConfig(dir, { ...pad.document(), ...changes, providers: model.providers, plugins: [plugins] })
  const first = await spawnGateway(file)
  onTestFinished(async () => void (await first.end('SIGKILL')))
  const { runId } = (await post(first.url, ['agent', { message: 'Go.', deliver: false }])).body
  const waiting = async () => (await get(first.url, '/api/approvals?status=waiting')).body.items
  await expect.poll(waiting).toHaveLength(1)
  const [{ id }] = await waiting()
  const headers = { authorization: `Bearer ${gatewayToken}` }
  await ask(`${first.url}/api/approvals/${id}/approve`, { method: 'POST', body: '{}', headers })
  await expect.poll(pad.launches).toHaveLength(1)
  await first.end('SIGKILL')
  const second = await spawnGateway(file)
  onTestFinished(async () => void (await second.end('SIGKILL')))
  expect(await ended(second.url, runId)).toMatchObject({ status: 'succeeded', reply: 'Done.' })
  expect((await get(second.url, `/runs/${runId}/steps`)).body.items[3]).toMatchObject({ status: 'interrupted' })
  expect(pad.launches()).toHaveLength(1)
})

// `test/long/approval-crash.test.ts` has the many kills, also of a single gateway.
it('makes no approved call twice, and none unapproved, when one of two gateways is killed', async () => {
  const database = await createDatabase(inject('postgresUrl'))
  const survived = await surviveCrashesOfApprovals({ kills: 1, databaseUrl: database.url, gateways: 2 })
  expect(survived.approved).toBeGreaterThan(0)
  await database.remove()
}, 120_000)
