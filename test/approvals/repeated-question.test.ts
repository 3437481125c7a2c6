// A step with a question to an approver, whose commit is done but whose answer is lost. The recorder stores it again.
import { expect, inject, it, onTestFinished } from 'vitest'
import { startApprovals } from './start-approvals.ts'
import { newApproval, newDelivery, newStep, start, startRun } from '../contracts/store-samples.ts'
import { temporaryFolder } from '../helpers.ts'
import { createDatabase, query } from '../postgres.ts'
import { silent } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'
import { startDatabaseProxy } from '../store/postgres/database-proxy.ts'

it.each(['sqlite', 'postgres'])('a step that asks can be stored again, as every other step, on %s', async (engine) => {
  let url = 'sqlite:gateway.db'
  if (engine === 'postgres') {
    const database = await createDatabase(inject('postgresUrl'))
    onTestFinished(database.remove)
    ;({ url } = database)
  }
  const store = await openStore({ url, dir: temporaryFolder(), log: silent })
  onTestFinished(() => store.close())
  const run = await startRun(store)
  const step = newStep({ status: 'waiting', endedAt: null, message: null })
  const record = {
    steps: [step],
    count: 1,
    asked: { at: start, approvals: [newApproval({ runId: run.id })], deliveries: [newDelivery({ runId: '' })] },
  }
  expect(await store.recordSteps(run, record)).toBe(true)
  expect(await store.recordSteps(run, record)).toBe(true)
  expect(await store.readRunApprovals(run.id)).toHaveLength(1)
})

it('a run waits for its approval although the connection was lost between the commit and its answer', async () => {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const proxy = await startDatabaseProxy(database.url)
  onTestFinished(proxy.close)
  const { model, send, get } = await startApprovals({
    hooks: { allowRequestSessionKey: true },
    storage: { url: proxy.url },
  })
  model.script({ tool: 'launch', args: {} })
  const count = async () => (await query(database.url, 'SELECT count(*)::int AS n FROM approval'))[0]?.['n']
  const runId = await send('hook:one')
  await model.request(0)
  proxy.delay(150)
  await expect.poll(count, { timeout: 20_000, interval: 5 }).toBe(1)
  // The approval is committed, and the gateway does not know it yet.
  proxy.delay(0)
  proxy.reset()
  await expect
    .poll(async () => (await get(`/runs/${runId}`)).body, { timeout: 20_000 })
    .toMatchObject({ status: expect.stringMatching(/waiting|failed/) as string })
  expect((await get(`/runs/${runId}`)).body).toMatchObject({ status: 'waiting' })
}, 60_000)
