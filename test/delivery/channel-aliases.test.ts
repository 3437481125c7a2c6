// A channel may be called by its aliases wherever a request or the configuration names it.
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { gatewayToken, hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const phone = fileURLToPath(new URL('../fixtures/phone/phone.mjs', import.meta.url))

async function start() {
  const chat = await startChat()
  const dir = temporaryFolder()
  const { plugins, channels } = chat.config(dir, {
    'chat-native': {
      allowFrom: ['ann'],
      dmPolicy: 'pairing',
      defaultTo: 'lobby',
      groups: { ops: { tools: { deny: ['session_status'] } }, '*': {} },
    },
  })
  const gateway = await startGateway(
    {
      agents: { defaults: { heartbeat: { every: 0 } } },
      plugins: [...plugins, phone],
      channels: { 'talk-native': channels['chat-native'], mobile: { token: 'token-of-phone' } },
      hooks: {
        enabled: true,
        token: hookToken,
        mappings: [{ match: { path: 'm' }, messageTemplate: 'Mapped.', channel: 'talk-native', to: 'room 1' }],
      },
    },
    dir,
  )
  return { chat, ...gateway }
}

/** For tests that no message of another one disturbs. */
const shared = share(start)

const run = { message: 'hi', wakeMode: 'next-heartbeat' }
const authorization = `Bearer ${gatewayToken}`

describe('an alias of a channel', () => {
  it('is accepted in a webhook request, and its recipient is checked and completed', async () => {
    const { chat, post, get } = await start()
    expect((await post('/hooks/agent', { ...run, channel: 'talk-native' })).body.warnings).toBeUndefined()
    expect((await chat.holds(1))[0]).toMatchObject({ channel: 'chat-native', to: 'lobby' })
    await chat.say({ to: 'ann' })
    await chat.holds(2)
    await post('/hooks/agent', { ...run, channel: 'talk-native' })
    expect((await chat.holds(3))[2]).toMatchObject({ channel: 'chat-native', to: 'ann' })
    expect((await post('/hooks/agent', { ...run, channel: 'talk-native', to: 'a!b' })).status).toBe(400)
    expect((await post('/hooks/agent', { ...run, channel: 'talk' })).status).toBe(400)
    await expect.poll(async () => (await get('/api/outbox?channel=talk-native')).body.items.length).toBe(3)
  })

  it('is accepted in a mapping, without a warning', async () => {
    const { chat, post, logged } = await start()
    await post('/hooks/m', {})
    expect((await chat.holds(1))[0]).toMatchObject({ channel: 'chat-native', to: 'room 1' })
    expect(logged.filter((line) => line.includes('"warn"') && line.includes('talk'))).toEqual([])
  })

  it('is accepted by the message tool', async () => {
    const { chat, post } = shared()
    await chat.say({ to: 'ann' })
    await chat.holds(1, 'ann')
    const call = { tool: 'message', args: { text: 'Psst.', channel: 'talk-native' } }
    expect((await post('/tools/invoke', call, { authorization })).body.result).toMatchObject({
      channel: 'chat-native',
      to: 'ann',
    })
  })

  it('is accepted by the cron tool, and the reply goes to the channel', async () => {
    const { chat, post } = shared()
    const cron = (args: object) => post('/tools/invoke', { tool: 'cron', args }, { authorization })
    const schedule = { every: '1h', message: 'Wake up.', channel: 'talk-native', to: 'room 2' }
    const { id } = (await cron({ action: 'add', ...schedule })).body.result
    await cron({ action: 'run', id })
    expect((await chat.holds(1, 'room 2'))[0]).toMatchObject({ channel: 'chat-native' })
  })

  it('reaches the channel at /channels/<alias> and in the login', async () => {
    const { post, get } = shared()
    const login = await post('/api/channels/mobile/login', {}, { authorization })
    expect(login.body).toMatchObject({ status: 'waiting', qr: 'code-one-secret' })
    const accounts = async () => (await get('/api/channels')).body.accounts
    await expect.poll(accounts).toContainEqual(expect.objectContaining({ channel: 'phone', state: 'connected' }))
    expect((await get('/api/channels/mobile/login')).body).toMatchObject({ status: 'linked' })
    expect((await post('/channels/mobile', {}, { 'x-signature': 'wrong' })).status).toBe(401)
    expect((await post('/channels/mobiles', {}, { 'x-signature': 'wrong' })).status).toBe(404)
    expect((await post('/api/channels/mobile/logout', {}, { authorization })).body).toEqual({ ok: true })
  })

  it('names the channel of an approval that is withdrawn', async () => {
    const { chat, post, get } = shared()
    await chat.say({ from: { id: 'bob' }, to: 'bob' })
    const [{ code }] = (await get('/api/pairings')).body.items
    await post(`/api/pairings/${code}/approve`, {}, { authorization })
    const revoke = (channel: string) => post('/api/pairings/revoke', { channel, sender: 'bob' }, { authorization })
    expect((await revoke('talk')).status).toBe(404)
    expect((await revoke('talk-native')).body).toEqual({ ok: true })
  })

  it('finds the tool policy of a group in the session key', async () => {
    const { post } = shared()
    const status = async (group: string) => {
      const call = { tool: 'session_status', args: {}, sessionKey: `agent:main:talk-native:group:${group}` }
      return (await post('/tools/invoke', call, { authorization })).status
    }
    expect(await status('ops')).toBe(404)
    expect(await status('rest')).toBe(200)
  })

  it('finds the tool policy of a group in the headers', async () => {
    const { post } = shared()
    const status = async (channel: string, group: string) => {
      const call = { tool: 'session_status', args: {}, sessionKey: `agent:main:other:group:${group}` }
      return (await post('/tools/invoke', call, { authorization, 'x-svc-message-channel': channel })).status
    }
    expect(await status('talk-native', 'ops')).toBe(404)
    expect(await status('talk-native', 'rest')).not.toBe(404)
  })
})
