// An account that a mapping or a tool names never writes to the recipient of another account.
import { expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'

it('sends to the defaultTo of the named account, not to the last recipient of another one', async () => {
  const [chat, dir] = [await startChat(), temporaryFolder()]
  const mapping = { match: { path: 'm' }, messageTemplate: 'Go.', channel: 'chat-native', accountId: 'home' }
  const config = (accounts: Document) => ({
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: { mappings: [mapping] },
    ...chat.config(dir, { 'chat-native': { allowFrom: ['ann'], accounts } }),
  })
  const running = await startGateway(config({ work: {}, home: { defaultTo: 'ops' } }), dir)
  await expect.poll(() => chat.connected.length).toBe(2)
  await chat.say({ to: 'ann', route: { tenant: 'of work' } })
  const [reply] = await chat.holds(1)
  const other = reply!.accountId === 'work' ? 'home' : 'work'
  await reconfigure(running, {
    ...config({ work: { defaultTo: 'ops' }, home: { defaultTo: 'ops' } }),
    hooks: { mappings: [{ ...mapping, accountId: other }] },
  })
  await running.post('/hooks/m', {})
  const [, sent] = await chat.holds(2)
  expect({ accountId: sent!.accountId, to: sent!.to, route: sent!.route }).toEqual({
    accountId: other,
    to: 'ops',
    route: undefined,
  })
})
