// WhatsApp as a linked device: the channel contract, linking, losing the connection, and what must never be printed.
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import whatsapp from '../../channels/whatsapp/index.ts'
import type { ExtensionState, Json } from '../../core/plugin.ts'
import { channelContract } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { startModel } from '../doubles/model.ts'
import { openWhatsapp } from '../doubles/whatsapp.ts'
import {
  connect,
  contextWith,
  createState,
  group,
  linkAccount,
  type LinkedAccount,
  login,
  openLinked,
  send,
  to,
} from '../doubles/whatsapp-account.ts'
import { startGateway, temporaryFolder } from '../helpers.ts'
import { openStore } from '../store/open-store.ts'

let linked: LinkedAccount
beforeAll(async () => {
  linked = await linkAccount()
})

/** The suite knows nothing of logins, so the channel gets the state of the linked account by its address. */
const states = new Map<string | undefined, ExtensionState>()

channelContract(
  {
    ...whatsapp,
    connect: (config, context) =>
      whatsapp.connect(config, { ...context, state: states.get(config.webSocketUrl) ?? context.state }),
  },
  async () => {
    const server = await openWhatsapp(linked.device)
    server.addGroup(group, ['15551112222'])
    const { webSocketUrl } = server.config
    states.set(webSocketUrl, createState(new Map(linked.records)))
    states.set(server.unlinkedUrl, createState(new Map(linked.records)))
    return {
      config: server.config,
      badConfig: { ...server.config, webSocketUrl: server.unlinkedUrl },
      to,
      messages: async () => server.received,
      say: async (text: string) => void (await server.say(text)),
      sayInGroup: (text: string, { mentioned }: { mentioned: boolean }) =>
        server.sayInGroup(text, { group, mentioned }),
      echo: server.echo,
      disconnect: server.disconnect,
      loseNextAnswer: () => server.fail('lose-answer'),
      close: server.close,
    }
  },
)

describe('linking', () => {
  it('shows codes until the phone scans one, and stores what connect needs', async () => {
    const server = await openWhatsapp()
    onTestFinished(() => server.close())
    const state = createState(new Map())
    await expect(whatsapp.connect(server.config, contextWith(state))).rejects.toThrow(/not linked/)
    const codes: string[] = []
    for await (const step of login(server, state)) {
      if (!('qr' in step)) continue
      codes.push(step.qr)
      server.scan(step.qr)
    }
    expect(codes).toHaveLength(1)
    expect(codes[0]).toMatch(/^https:\/\/wa\.me\/settings\/linked_devices#2@REF0,/)
    const { connection } = await connect(server, state)
    expect(await send(connection, 'hello')).toMatchObject({ outcome: 'sent' })
  })

  it('shows new codes when the first ones are used up', async () => {
    const server = await openWhatsapp()
    onTestFinished(() => server.close())
    const codes: string[] = []
    for await (const step of login(server, createState(new Map()))) {
      if (!('qr' in step)) continue
      codes.push(step.qr)
      if (codes.length === 1) server.closeWith('408')
      else server.scan(step.qr)
    }
    expect(codes).toHaveLength(2)
  })

  it('ends at once if the account is linked', async () => {
    const { server, state } = await openLinked(linked)
    const steps = []
    for await (const step of login(server, state)) steps.push(step)
    expect(steps).toEqual([])
  })

  it('ends when the person gives up, and stores nothing', async () => {
    const server = await openWhatsapp()
    onTestFinished(() => server.close())
    const records = new Map<string, Json>()
    const stop = new AbortController()
    const codes = login(server, createState(records), stop.signal)[Symbol.asyncIterator]()
    await codes.next()
    stop.abort(new Error('given up'))
    await expect(codes.next()).rejects.toThrow('given up')
    expect([...records]).toEqual([])
  })

  it('fails if the platform cannot be reached', async () => {
    const server = await openWhatsapp()
    await server.close()
    await expect(login(server, createState(new Map()))[Symbol.asyncIterator]().next()).rejects.toThrow(/connection/)
  })

  it('is undone by logout, which leaves no key behind', async () => {
    const { server, records, state } = await openLinked(linked)
    const { lost } = await connect(server, state)
    expect([...records.keys()].filter((key) => key.startsWith('key:pre-key:')).length).toBeGreaterThan(100)
    await whatsapp.logout!(server.config, { ...createTestContext(), state, accountId: 'default' })
    await server.until(() => server.device() === undefined)
    await lost
    expect([...records]).toEqual([])
  })

  it('is undone on this side even if the platform cannot be reached', async () => {
    const { server, records, state } = await openLinked(linked)
    await server.close()
    const context = createTestContext()
    await whatsapp.logout!(server.config, { ...context, state, accountId: 'default' })
    expect([...records]).toEqual([])
    expect(context.logged.map(({ message }) => message)).toContain(
      'WhatsApp could not be reached: remove the device in the settings of the phone',
    )
  })
})

describe('a connection that WhatsApp closes', () => {
  it('is lost with a sentence when another program uses the device, and is not opened again', async () => {
    const { server, state } = await openLinked(linked)
    const { lost } = await connect(server, state)
    server.closeWith('440', 'conflict')
    expect(await lost).toMatchObject({ name: 'AuthError', message: expect.stringContaining('Another program') })
  })

  it('is lost for good when the phone removes the device, and the keys are deleted', async () => {
    const { server, records, state } = await openLinked(linked)
    const { lost } = await connect(server, state)
    server.unlink()
    expect(await lost).toMatchObject({ name: 'AuthError', message: expect.stringContaining('unlinked') })
    expect([...records]).toEqual([])
  })

  it('is given up when the gateway stops while it is being opened', async () => {
    const { server, state } = await openLinked(linked)
    server.ignoreLogins()
    const context = { ...createTestContext(), accountId: 'default', lost: () => undefined }
    const connecting = whatsapp.connect(server.config, { ...context, state, receive: async () => 'accepted' as const })
    await server.until(() => server.sockets() === 1)
    context.abort()
    await expect(connecting).rejects.toThrow()
    await server.until(() => server.sockets() === 0)
  })

  it.each([
    ['503', /503/],
    ['515', /515/],
  ])('is opened again by the gateway after the code %s', async (code, reason) => {
    const { server, state } = await openLinked(linked)
    const { lost } = await connect(server, state)
    server.closeWith(code)
    expect(await lost).toMatch(reason)
  })

  it('is opened again at once when WhatsApp asks for a restart', async () => {
    const { server, state } = await openLinked(linked)
    server.restartNext()
    const { connection } = await connect(server, state)
    expect(await send(connection, 'hello')).toMatchObject({ outcome: 'sent' })
  })
})

describe('WhatsApp in a gateway', () => {
  /** A gateway whose account is linked. */
  async function start() {
    const { server, records } = await openLinked(linked)
    const dir = temporaryFolder()
    const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log: createTestContext().log })
    await Promise.all([...records].map(([key, value]) => store.setState('channel:whatsapp:default', key, value)))
    await store.close()
    const model = await startModel()
    const gateway = await startGateway(
      {
        agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m' } },
        providers: model.providers,
        channels: { whatsapp: { ...server.config, allowFrom: [to] } },
      },
      dir,
    )
    await server.until(() => server.connected() === 1)
    return { server, model, ...gateway }
  }

  it('answers a webhook on WhatsApp', async () => {
    const { server, model, post, logged } = await start()
    model.script({ text: 'The backup has **failed**.' })
    const hook = { message: 'hi', channel: 'whatsapp', to, wakeMode: 'next-heartbeat' }
    expect(await post('/hooks/agent', hook)).toMatchObject({ status: 200 })
    await server.until(() => server.received.length === 1)
    expect(server.received).toMatchObject([{ to, text: 'The backup has *failed*.' }])
    const { advSecretKey } = JSON.parse(linked.records.get('credentials') as string) as { advSecretKey: string }
    expect(logged.join('\n')).not.toContain(advSecretKey)
  })

  it('answers messages of allowed senders, in order', async () => {
    const { server, model } = await start()
    model.script({ text: 'Hello Alice.' }, { text: 'Fine.' })
    await server.say('from a stranger', { from: '15553334444' })
    for (const text of ['Hello?', 'How are you?']) await server.say(text)
    await server.until(() => server.received.length === 2)
    expect(await model.prompt(0)).toContain('Hello?')
    expect(server.received).toMatchObject([
      { to, text: 'Hello Alice.' },
      { to, text: 'Fine.' },
    ])
    expect(server.chatStates).toContainEqual({ to: '15551112222@s.whatsapp.net', state: 'composing' })
  })
})
