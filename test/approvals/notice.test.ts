// The end of a run whose call waits for an approval, while another call of the same answer is being made.
import { expect, it } from 'vitest'
import { gatewayToken } from '../helpers.ts'
import { codeIn } from './launch-pad.ts'
import { startApprovals } from './start-approvals.ts'

const hooks = { allowRequestSessionKey: true }
const asAdmin = { authorization: `Bearer ${gatewayToken}` }

it('tells the approver that the call is not made, and removes the buttons, when the run is cancelled in its first attempt', async () => {
  const { model, chat, send, post, get } = await startApprovals({
    hooks,
    tools: { allow: ['group:pad'], ask: ['explode'] },
  })
  // `explode` asks, `launch` takes a while.
  model.script({
    calls: [
      { tool: 'explode', args: {} },
      { tool: 'launch', args: { ms: 4000 } },
    ],
  })
  const runId = await send('hook:one')
  const [question] = await chat.holds(1)
  expect(codeIn(question!.text)).toMatch(/^\w{8}$/)
  expect((await post(`/api/runs/${runId}/cancel`, {}, asAdmin)).status).toBe(200)
  await expect.poll(async () => (await get(`/runs/${runId}`)).body.status).toBe('cancelled')
  expect((await get(`/api/approvals?runId=${runId}`)).body.items).toMatchObject([{ status: 'cancelled' }])
  const [, told] = await chat.holds(2)
  expect(told!.text).toBe('The call of `explode` of the agent `main` is not made: its run has ended.')
})
