// WhatsApp as a linked device: the channel contract, linking, losing the connection, and what must never be printed.
import { DEFAULT_CONNECTION_CONFIG } from 'baileys'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import whatsapp from '../../channels/whatsapp/index.ts'
import type { ExtensionState, Json } from '../../core/plugin/plugin.ts'
import { channelContract, type SaidFile } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { forwarded, openWhatsapp } from '../doubles/whatsapp.ts'
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
    let last: { id: string; group?: string; text?: string } = { id: '' }
    let lid: 'with-number' | 'without-number' = 'with-number'
    const say = async (message: Parameters<typeof server.say>[0], place: { group?: string } = {}) => {
      last = { id: await server.say(message, { lid, ...place }), ...place }
    }
    states.set(webSocketUrl, createState(new Map(linked.records)))
    states.set(server.unlinkedUrl, createState(new Map(linked.records)))
    return {
      config: server.config,
      badConfig: { ...server.config, webSocketUrl: server.unlinkedUrl },
      to,
      messages: async () =>
        server.received.map(({ to, text, file, fetches }) => ({
          to,
          text,
          fetches,
          file: file && { name: file.name ?? '', content: file.data },
        })),
      say: (text: string) => say(text),
      rename: async (name) => server.rename(name),
      edit: async (text: string) => {
        const key = { remoteJid: last.group ?? '15551112222@s.whatsapp.net', fromMe: true, id: last.id }
        const type = 14 // MESSAGE_EDIT
        await say({ protocolMessage: { key, type, editedMessage: { conversation: text } } }, last)
      },
      sayInGroup: async (text: string, { mentioned }: { mentioned: boolean }) =>
        void (last = { id: await server.sayInGroup(text, { group, mentioned }), group, text }),
      answer: async (text: string, original: 'own' | 'other') => {
        const { id, text: said = '' } = original === 'own' ? server.received.at(-1)! : last
        const author = original === 'own' ? server.account : '15551112222'
        await (original === 'own'
          ? say(server.answerTo({ id, author, message: { conversation: said } }, text))
          : say(server.answerTo({ id, author, message: { conversation: said } }, `@${server.account} ${text}`), {
              group,
            }))
      },
      forward: (text: string) => say({ extendedTextMessage: { text, contextInfo: forwarded } }),
      hideId: async () => void (lid = 'without-number'),
      sayWithFile: async (text: string, { name, type, size, content }: SaidFile, place) => {
        const file = { ...(await server.media.put(content, 'document')), fileName: name, mimetype: type }
        await say({ documentMessage: { ...file, fileLength: size, caption: text } }, place ? { group } : {})
      },
      // The suite asks for names, which pictures do not have.
      sayWithFiles: async (text: string, files: readonly SaidFile[]) => {
        const documents = files.map(async ({ name, type, content }, index) => {
          const file = { ...(await server.media.put(content, 'document')), fileName: name, mimetype: type }
          return { documentMessage: { ...file, ...(index === 0 && { caption: text }) } }
        })
        await server.sayAlbum(await Promise.all(documents), { lid })
      },
      echo: server.echo,
      disconnect: server.disconnect,
      loseNextAnswer: () => server.fail('lose-answer'),
      close: server.close,
    }
  },
  { without: ['answerNext', 'limitNext', 'redirectNextDownload', 'sayInThread'] },
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

describe('the client version', () => {
  const { version: builtin } = DEFAULT_CONNECTION_CONFIG
  const next = builtin[2] + 1000
  const outdated = (current?: number) => ({ current, oldest: next })

  it('is looked up at WhatsApp when the built-in one is refused, and remembered', async () => {
    const { server, state, records } = await openLinked(linked)
    server.setVersion(outdated(next))
    const first = await connect(server, state)
    expect(await send(first.connection, 'hello')).toMatchObject({ outcome: 'sent' })
    expect(records.get('client-version')).toBe(`2.3000.${next}`)
    await first.connection.close()
    server.setVersion(outdated())
    await connect(server, state)
  })

  it('is looked up while an account is linked', async () => {
    const server = await openWhatsapp()
    onTestFinished(() => server.close())
    server.setVersion(outdated(next))
    const codes: string[] = []
    for await (const step of login(server, createState(new Map()))) {
      if (!('qr' in step)) continue
      codes.push(step.qr)
      server.scan(step.qr)
    }
    expect(codes).toHaveLength(1)
  })

  it('can be set', async () => {
    const { server, state } = await openLinked(linked)
    server.setVersion(outdated())
    const config = { ...server.config, version: `2.3000.${next}` }
    const connection = await whatsapp.connect(config, contextWith(state))
    await server.until(() => server.connected() === 1)
    expect(server.connected()).toBe(1)
    await connection.close()
  })

  const refused = (version = builtin[2]) => `WhatsApp refuses the client version 2.3000.${version} (405)`
  it.each<[string, { current?: number; version?: string }, string]>([
    [
      'it cannot be looked up',
      {},
      `${refused()}, and the current one could not be read from http://HOST/sw.js. Set channels.whatsapp.version to ` +
        'the one that WhatsApp Web has, such as "2.3000.1043857760", or install a newer baileys.',
    ],
    [
      'it is the current one',
      { current: builtin[2] },
      `${refused()}, which is the current one. Install a newer baileys.`,
    ],
    [
      'the next one is refused, too',
      { current: builtin[2] + 1 },
      `${refused(builtin[2] + 1)}, which is the current one.`,
    ],
    [
      'it is set',
      { current: next, version: '2.3000.5' },
      `${refused(5)}. Remove channels.whatsapp.version, so that the current one is looked up, or update it.`,
    ],
  ])('is named by the error with what to do if %s', async (_case, { current, version }, message) => {
    const { server, state } = await openLinked(linked)
    server.setVersion(outdated(current))
    const config = { ...server.config, ...(version !== undefined && { version }) }
    const host = new URL(server.config.webSocketUrl).host
    const expected = { name: 'Error', message: expect.stringContaining(message.replace('HOST', host)) }
    await expect(whatsapp.connect(config, contextWith(state))).rejects.toMatchObject(expected)
  })
})

describe('a connection that WhatsApp closes', () => {
  it('is opened again when a block of the account is over', async () => {
    const { server, state } = await openLinked(linked)
    // whatsmeow's `TemporaryBan`: `expire` is in seconds.
    server.refuseNext({ reason: '402', code: '101', expire: '3600' })
    await expect(whatsapp.connect(server.config, contextWith(state))).rejects.toMatchObject({
      name: 'Error',
      message: 'WhatsApp has blocked this account for a while. Send fewer messages.',
      retryAfterMs: 3_600_000,
    })
    server.refuseNext({ reason: '406' })
    await expect(whatsapp.connect(server.config, contextWith(state))).rejects.toMatchObject({ name: 'AuthError' })
  })

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
