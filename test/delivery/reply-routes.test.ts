// Where the newest messages came from: senders who may not write any more, and a failed read.
import { expect, it } from 'vitest'
import { createReplyRoutes } from '../../core/delivery/reply-routes.ts'
import { startChat } from '../doubles/chat.ts'
import { startObedientModel } from '../doubles/obedient.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'

const asOwner = { authorization: `Bearer ${gatewayToken}` }

async function start(channels: Document, session: Document = {}) {
  const [chat, model, dir] = [await startChat(), await startObedientModel(), temporaryFolder()]
  const config = (changed: Document, changedSession = session) => ({
    providers: model.providers,
    agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    session: changedSession,
    ...chat.config(dir, changed),
  })
  const gateway = await startGateway(config(channels), dir)
  let hooks = 0
  /** Where the reply to a webhook goes, or why it does not, and the warnings of the response. */
  async function replyTo(fields: Document = {}) {
    const message = `Webhook ${++hooks}.`
    const accepted = await gateway.post('/hooks/agent', { message, wakeMode: 'next-heartbeat', ...fields })
    const find = async () => (await gateway.get('/api/runs?kind=hook&limit=1')).body.items[0]
    await expect.poll(async () => (await find()).status, { interval: 10 }).toBe('succeeded')
    const [delivery] = (await find()).deliveries
    expect(accepted.body.warnings).toEqual(delivery.reason === undefined ? undefined : [delivery.reason])
    return delivery.reason ?? `${delivery.channel} ${delivery.to}`
  }
  const apply = (changed: Document, changedSession?: Document) =>
    reconfigure({ ...gateway, dir }, config(changed, changedSession))
  return { ...gateway, chat, apply, replyTo }
}

it('sends replies to "last" to the newest sender who may still write, and says so if there is none', async () => {
  const native = { allowFrom: ['ann'], groups: { ops: { requireMention: false } } }
  const none = { allowFrom: ['cat'] }
  const { chat, apply, replyTo } = await start({ 'chat-native': native, 'chat-none': none })
  await chat.say({ from: { id: 'cat' }, to: 'room-of-cat' }, 'chat-none')
  await chat.say({ from: { id: 'Ann' }, to: 'room-of-ann' })
  expect(await replyTo()).toBe('chat-native room-of-ann')

  const without = (...gone: string[]): Document => ({
    'chat-native': gone.includes('ann') ? { ...native, allowFrom: ['bob', '*'] } : native,
    'chat-none': gone.includes('cat') ? { allowFrom: [] } : none,
  })
  await apply(without('ann'))
  expect(await replyTo()).toBe('chat-none room-of-cat')
  expect(await replyTo({ channel: 'chat-native' })).toBe(
    'The channel "chat-native" has no recipient; send "to", or set channels.chat-native.defaultTo. ' +
      'The sender "Ann" is a stranger on chat-native now.',
  )
  expect(await replyTo({ channel: 'chat-native', to: 'room-of-ann' })).toBe('chat-native room-of-ann')

  await apply(without('ann', 'cat'))
  expect(await replyTo()).toBe(
    'The channel "last" leads nowhere: whoever wrote last may not any more, and "whatsapp" cannot be used; ' +
      'name a channel, or set deliver to false. The sender "Ann" is a stranger on chat-native now.',
  )
  await apply(
    { ...without('ann', 'cat'), 'chat-reconcile': { defaultTo: 'operator' } },
    { fallbackChannel: 'chat-reconcile' },
  )
  expect(await replyTo()).toBe('chat-reconcile operator')

  await apply({ ...without(), 'chat-native': { ...native, accounts: { other: { defaultTo: 'others' } } } })
  expect(await replyTo()).toBe('chat-none room-of-cat')
  await apply(without())
  expect(await replyTo()).toBe('chat-native room-of-ann')
})

it('ends the route of a sender whose pairing is revoked, and of a stranger when strangers share nothing any more', async () => {
  const channels = {
    'chat-native': { dmPolicy: 'pairing', defaultTo: 'operator' },
    'chat-none': { allowFrom: ['*'], directSession: 'shared', defaultTo: 'operator' },
  }
  const { chat, post, apply, replyTo } = await start(channels)
  const pair = async (count: number) => {
    await chat.say({ from: { id: 'dan' }, to: 'dan' })
    const [, code] = /\b([A-HJ-NP-Z2-9]{8})\b/.exec((await chat.holds(count, 'dan')).at(-1)!.text)!
    expect((await post(`/api/pairings/${code}/approve`, {}, asOwner)).status).toBe(200)
  }
  await pair(1)
  await chat.say({ from: { id: 'dan' }, to: 'dan' })
  expect(await replyTo()).toBe('chat-native dan')
  await post('/api/pairings/revoke', { channel: 'chat-native', sender: 'dan' }, asOwner)
  expect(await replyTo({ channel: 'chat-native' })).toBe('chat-native operator')
  await pair(5)
  expect(await replyTo()).toBe('chat-native dan')

  await chat.say({ from: { id: 'eve' }, to: 'eve' }, 'chat-none')
  expect(await replyTo()).toBe('chat-none eve')
  await apply({ ...channels, 'chat-none': { ...channels['chat-none'], directSession: 'main' } })
  expect(await replyTo()).toBe('chat-native dan')
  expect(await replyTo({ channel: 'chat-none' })).toBe('chat-none operator')
})

it('takes the route of a session from the tool message when its sender may not write any more', async () => {
  const native = { directSession: 'sender', allowFrom: ['ann', 'bob'] }
  const owner = { allowFrom: ['cat'] }
  const { chat, post, apply } = await start({ 'chat-native': native, 'chat-none': owner })
  await chat.say({ from: { id: 'cat' }, to: 'cat' }, 'chat-none')
  await chat.say({ from: { id: 'ann' }, to: 'room-of-ann' })
  /** The recipient of a message that names none, in Ann's session. */
  const send = async () => {
    const call = { tool: 'message', args: { text: 'News.' }, sessionKey: 'agent:main:chat-native:direct:ann' }
    return (await post('/tools/invoke', call, asOwner)).body.result
  }
  expect(await send()).toMatchObject({ to: 'room-of-ann' })
  await apply({ 'chat-native': { ...native, allowFrom: ['bob'] }, 'chat-none': owner })
  expect(await send()).toMatchObject({ to: 'cat' })
})

it('reads the routes of a session again when the first read has failed', async () => {
  const route = { channel: 'slack', accountId: 'default', to: 'C1', threadId: null, route: null, at: 1 }
  let isBroken = true
  const routes = createReplyRoutes({
    store: {
      listRoutes: async () => {
        if (isBroken) throw new Error('the store is out of reach')
        return [route]
      },
    },
    senderRights: { findLoss: async () => undefined, findKnownLoss: () => undefined },
  })
  await expect(routes.watch('agent:main:main')).rejects.toThrow('out of reach')
  isBroken = false
  await routes.watch('agent:main:main')
  expect(routes.findKnown('agent:main:main', {})).toMatchObject({ route: { to: 'C1' } })
})
