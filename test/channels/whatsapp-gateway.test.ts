// WhatsApp in a gateway: linking and unlinking over HTTP, webhooks that are answered there, and messages from there.
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createTestContext } from '../contracts/context.ts'
import { startModel } from '../doubles/model.ts'
import { openWhatsapp } from '../doubles/whatsapp.ts'
import { linkAccount, type LinkedAccount, openLinked, to } from '../doubles/whatsapp-account.ts'
import { openWhatsappCloud } from '../doubles/whatsapp-cloud.ts'
import { ask, gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { openStore } from '../store/open-store.ts'

let linked: LinkedAccount
beforeAll(async () => {
  linked = await linkAccount()
})

const quiet = { agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m' } } }

describe('a linked device in a gateway', () => {
  /** Its account is linked. */
  const shared = share(async () => {
    const { server, records } = await openLinked(linked)
    const dir = temporaryFolder()
    const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log: createTestContext().log })
    await Promise.all([...records].map(([key, value]) => store.setState('channel:whatsapp:default', key, value)))
    await store.close()
    const model = await startModel()
    const gateway = await startGateway(
      {
        ...quiet,
        providers: model.providers,
        channels: { whatsapp: { ...server.config, allowFrom: [to] } },
      },
      dir,
    )
    await server.until(() => server.connected() === 1)
    return { server, model, ...gateway }
  })

  it('answers a webhook on WhatsApp', async () => {
    const { server, model, post, logged } = shared()
    const before = server.received.length
    model.script({ text: 'The backup has **failed**.' })
    const hook = { message: 'hi', channel: 'whatsapp', to, wakeMode: 'next-heartbeat' }
    expect(await post('/hooks/agent', hook)).toMatchObject({ status: 200 })
    await server.until(() => server.received.length === before + 1)
    expect(server.received.slice(before)).toMatchObject([{ to, text: 'The backup has *failed*.' }])
    const { advSecretKey } = JSON.parse(linked.records.get('credentials') as string) as { advSecretKey: string }
    expect(logged.join('\n')).not.toContain(advSecretKey)
  })

  it('answers messages of allowed senders, in order', async () => {
    const { server, model } = shared()
    const before = { received: server.received.length, requests: model.requests.length }
    model.script({ text: 'Hello Alice.' }, { text: 'Fine.' })
    await server.say('from a stranger', { from: '15553334444' })
    for (const text of ['Hello?', 'How are you?']) await server.say(text)
    await server.until(() => server.received.length === before.received + 2)
    expect(await model.prompt(before.requests)).toContain('Hello?')
    expect(server.received.slice(before.received)).toMatchObject([
      { to, text: 'Hello Alice.' },
      { to, text: 'Fine.' },
    ])
    expect(server.chatStates).toContainEqual({ to: '15551112222@s.whatsapp.net', state: 'composing' })
  })

  it('is linked and unlinked over HTTP', async () => {
    const server = await openWhatsapp()
    onTestFinished(() => server.close())
    const gateway = await startGateway({ channels: { whatsapp: { ...server.config, allowFrom: [to] } } })
    const headers = { authorization: `Bearer ${gatewayToken}`, 'content-type': 'application/json' }
    const post = (path: string) =>
      ask(`${gateway.url}/api/channels/whatsapp/${path}`, { method: 'POST', headers, body: '{}' })
    const { body } = await post('login')
    expect(body).toMatchObject({ status: 'waiting', qr: expect.stringContaining('linked_devices#2@REF') })
    server.scan(body.qr as string)
    await server.until(() => server.connected() === 1)
    expect((await gateway.get('/api/channels/whatsapp/login')).body).toMatchObject({ status: 'linked' })
    expect(await post('logout')).toMatchObject({ status: 200 })
    await server.until(() => server.device() === undefined && server.connected() === 0)
    const status = async () => (await gateway.get('/api/channels/whatsapp/login')).body
    await expect.poll(status).toMatchObject({ status: 'not_linked', reason: expect.stringContaining('not linked') })
    const log = gateway.logged.join('\n')
    for (const secret of (body.qr as string).split(',').slice(1, 4)) expect(log).not.toContain(secret)
  })
})

const accountOf =
  ({ get }: Pick<Awaited<ReturnType<typeof startGateway>>, 'get'>) =>
  async () => {
    const accounts = (await get('/api/channels')).body.accounts as { channel: string }[]
    return accounts.find(({ channel }) => channel === 'whatsapp')
  }

describe('the Cloud API in a gateway', () => {
  it('is set up as its page says: the login registers the number and subscribes the app, then Meta can call', async () => {
    const cloud = await openWhatsappCloud()
    onTestFinished(() => cloud.close())
    cloud.reset({ registered: false, subscribed: false })
    const model = await startModel()
    model.script({ text: 'Hello Alice.' })
    const channels = { whatsapp: { ...cloud.config, allowFrom: [to] } }
    const gateway = await startGateway({ ...quiet, providers: model.providers, channels })
    const account = accountOf(gateway)
    await expect.poll(account).toMatchObject({
      state: 'login_required',
      reason: expect.stringMatching(/not registered.*not subscribed.*channels login whatsapp/),
    })
    const headers = { authorization: `Bearer ${gatewayToken}`, 'content-type': 'application/json' }
    const post = async (path: string, body: object) =>
      await ask(`${gateway.url}/api/channels/whatsapp/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const { question } = (await post('login', {})).body
    expect(question).toMatchObject({ secret: true, text: expect.stringContaining('six-digit PIN') })
    expect(await post('login/answer', { questionId: question.id, answer: cloud.pin })).toMatchObject({ status: 200 })
    await expect.poll(account).toMatchObject({ state: 'connected' })
    const url = `${gateway.url}/channels/whatsapp`
    const token = cloud.config.verifyToken
    const handshake = await fetch(`${url}?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=12345`)
    expect(await handshake.text()).toBe('12345')
    cloud.connect(async ({ method, headers, body }) => {
      const init = { method, headers: headers as Record<string, string>, body: new Uint8Array(body) }
      return { status: (await fetch(url, init)).status }
    })
    await cloud.say('Hello?')
    await cloud.until(() => cloud.messages.length > 0)
    expect(cloud.messages).toMatchObject([{ to, text: 'Hello Alice.' }])
    expect(gateway.logged.join('\n')).not.toContain(cloud.pin)
  })

  it('answers a message, whose webhook request must be signed', async () => {
    const cloud = await openWhatsappCloud()
    onTestFinished(() => cloud.close())
    const model = await startModel()
    model.script({ text: 'Hello **Alice**.' })
    const channels = { whatsapp: { ...cloud.config, allowFrom: [to] } }
    const gateway = await startGateway({ ...quiet, providers: model.providers, channels })
    await expect.poll(accountOf(gateway)).toMatchObject({ state: 'connected' })
    const url = `${gateway.url}/channels/whatsapp`
    const token = cloud.config.verifyToken
    const handshake = await fetch(`${url}?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=12345`)
    expect([handshake.status, await handshake.text()]).toEqual([200, '12345'])
    const message = { id: 'wamid.1', from: '15551112222', type: 'text', text: { body: 'Hello?' } }
    const { headers, body } = cloud.requestOf(cloud.payloadOf({ messages: [message] }))
    const signature = { 'x-hub-signature-256': headers['x-hub-signature-256']!, 'content-type': 'application/json' }
    const options = { method: 'POST', body: Buffer.from(body) }
    expect((await fetch(url, { ...options, headers: { 'content-type': 'application/json' } })).status).toBe(401)
    // Meta repeats requests; the message is answered once.
    for (const _ of [1, 2]) expect((await fetch(url, { ...options, headers: signature })).status).toBe(200)
    await expect.poll(() => cloud.messages).toMatchObject([{ to, text: 'Hello *Alice*.' }])
    expect(cloud.typing).toContain('wamid.1')
    const { accessToken, appSecret } = cloud.config
    for (const secret of [accessToken, appSecret, token]) expect(gateway.logged.join('\n')).not.toContain(secret)
  })
})
