// A schedule whose last run waits for an approval when its next time comes.
import { expect, it } from 'vitest'
import { gatewayToken } from '../helpers.ts'
import { startApprovals } from '../approvals/start-approvals.ts'

it('does not fire while its last run is still active', async () => {
  const { model, post, get, logged } = await startApprovals({
    tools: { allow: ['group:pad', 'cron'], ask: ['launch'] },
  })
  model.script({ tool: 'launch', args: {} })
  const asAdmin = { authorization: `Bearer ${gatewayToken}` }
  const args = { action: 'add', message: 'Check the pad.', every: '10s', deliver: false }
  const added = await post('/tools/invoke', { tool: 'cron', args }, asAdmin)
  expect(added).toMatchObject({ status: 200 })
  const runs = async () =>
    (await get('/api/runs?kind=schedule')).body.items.map(({ status }: { status: string }) => status)
  await expect.poll(runs).toEqual(['waiting'])
  await expect.poll(() => logged.join()).toContain('a schedule does not fire: its last run has not ended')
  expect(await runs()).toEqual(['waiting'])
})
