// Approvals and the rights of who answers: nobody approves what they may not do, and a reload takes rights away.
import { expect, it } from 'vitest'
import { gatewayToken } from '../helpers.ts'
import { codeIn } from './launch-pad.ts'
import { startApprovals } from './start-approvals.ts'

const hooks = { allowRequestSessionKey: true }
const narrow = { name: 'narrow', token: 'the-token-of-narrow-00000001', role: 'operator', tools: { deny: ['launch'] } }
const wide = { name: 'wide', token: 'the-token-of-wide-0000000001', role: 'operator' }
const limited = { name: 'limited', token: 'the-token-of-limited-0000001', role: 'admin', agents: ['main'] }
const gateway = {
  auth: { token: gatewayToken, clients: [narrow, wide, limited] },
  tools: { allow: ['gateway'] },
}
const bearer = ({ token }: { token: string }) => ({ authorization: `Bearer ${token}` })

it('returns 403 when a client approves a call that its own tools exclude', async () => {
  const { ask, post, conclude, pad } = await startApprovals({ hooks, gateway })
  const { runId, approval } = await ask({ own: 1 })
  const path = `/api/approvals/${approval.id}/approve`
  const refused = await post(path, {}, bearer(narrow))
  expect(refused.status).toBe(403)
  expect(refused.body.error).toMatchObject({ type: 'forbidden', message: expect.stringContaining('"launch"') })
  expect(pad.launches()).toEqual([])
  expect((await conclude(runId, () => post(path, {}, bearer(wide)))).status).toBe(200)
  expect(pad.launches()).toEqual([{ own: 1 }])
})

it('returns 404 when an admin that is limited to agents calls the tool gateway', async () => {
  const { post } = await startApprovals({ gateway, tools: { profile: 'full' } })
  const call = (headers: Record<string, string>) =>
    post('/tools/invoke', { tool: 'gateway', args: { action: 'config.get' } }, headers)
  expect((await call({ authorization: `Bearer ${gatewayToken}` })).status).toBe(200)
  expect((await call(bearer(limited))).status).toBe(404)
})

it('refuses the approval of an approver who answers in a group that may not use the tool', async () => {
  const groups = { team: { tools: { deny: ['launch'] } }, staff: {} }
  const { ask, chat, conclude, until, pad } = await startApprovals({ hooks }, { groups })
  const { runId, question } = await ask({ by: 'ann' })
  const answer = async (to: string, verb = 'approve') => {
    const said = chat.held.filter((message) => message.to === to).length
    await chat.say({ text: `${verb} ${codeIn(question)}`, from: { id: 'ann' }, to, group: 'group' })
    return (await chat.holds(said + 1, to))[said]!.text
  }
  expect(await answer('team')).toBe(
    'This call cannot be approved here, because this group may not use `launch` itself ' +
      '(channels.chat-native.groups.team.tools.deny: "launch"); another approver must answer, or you elsewhere.',
  )
  await until(runId, 'waiting')
  expect(await conclude(runId, () => answer('staff'))).toContain('Approved')
  expect(pad.launches()).toEqual([{ by: 'ann' }])
})

it('keeps a secret of the configuration out of the reason of a denial', async () => {
  const { ask, post, conclude, model } = await startApprovals({ hooks })
  const { runId, approval } = await ask({ by: 'ann' })
  const deny = () => post(`/api/approvals/${approval.id}/deny`, { reason: `It is ${gatewayToken}.` })
  expect((await conclude(runId, deny)).body.reason).toBe('It is [redacted].')
  expect(JSON.stringify(model.requests.at(-1)!.body)).toContain('denied this call: It is [redacted].')
})
