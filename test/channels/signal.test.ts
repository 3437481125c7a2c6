// The Signal channel against a double of signal-cli.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import signal from '../../channels/signal/index.ts'
import { splitIntoChunks } from '../../core/delivery/format/chunks.ts'
import { AuthError, type Json } from '../../core/plugin/plugin.ts'
import { channelContract } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { readText } from '../read-text.ts'
import { type Fault, openSignal, type SignalDouble } from '../doubles/signal.ts'
import { startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'
import { connectChannel, openDouble } from './connect-channel.ts'

// Without ids, a message is lost if the gateway crashes before it has stored it: signal-cli hands it over once.
// Signal does not mark what is passed on.
channelContract(signal, () => openSignal({ hasIds: true }), {
  without: ['forward', 'redirectNextDownload', 'sayInThread'],
})

type Settings = Parameters<typeof connectChannel>[2] & { double?: SignalDouble }

/** A double with a connection. Both are closed when the test ends. */
async function start({ double: given, ...settings }: Settings = {}) {
  const double = given ?? (await open())
  const connected = await connectChannel(signal, double.config, settings)
  const { connection } = connected
  const send = (text: string, to = double.to) => connection.send({ key: 'k', to, text })
  return { ...connected, double, send }
}

const open = (options: Parameters<typeof openSignal>[0] = {}) => openDouble(openSignal(options))

describe('connecting', () => {
  it('throws an AuthError if the account is not linked', async () => {
    const double = await open()
    const context = { ...createTestContext(), accountId: 'a', receive: vi.fn(), lost: vi.fn() }
    const error = await signal.connect(double.badConfig, context).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(AuthError)
    expect(String(error)).toContain('has no account +15559999999')
  })

  it('works with a daemon that serves a single account', async () => {
    const { send } = await start({ double: await open({ isSingle: true }) })
    expect(await send('hello')).toMatchObject({ outcome: 'sent' })
  })

  it('says what to do if the daemon refuses the host name', async () => {
    const double = await open()
    // `fetch` repeats a request that is answered with this status.
    for (const _ of [1, 2]) double.failNext('listAccounts', { status: 421 })
    await expect(start({ double })).rejects.toThrow('refuses the host name in httpUrl')
  })

  it('rejects if the daemon does not run, so that it is tried again', async () => {
    const context = { ...createTestContext(), accountId: 'a', receive: vi.fn(), lost: vi.fn() }
    const config = { account: '+15550000001', httpUrl: 'http://127.0.0.1:9' }
    await expect(signal.connect(config, context)).rejects.not.toBeInstanceOf(AuthError)
  })
})

describe('the result of send', () => {
  const results = (...kinds: string[]) => kinds.map((type) => ({ recipientAddress: { number: '+1' }, type }))
  const refusal = (code: number, ...kinds: string[]): Fault => ({
    error: {
      code,
      message: 'Failed to send message',
      data: { response: { timestamp: 1, results: results(...kinds) } },
    },
  })
  const error = (code: number, message: string): Fault => ({ error: { code, message } })

  it.each<[string, Fault, object]>([
    ['a recipient that is not registered', refusal(-1, 'UNREGISTERED_FAILURE'), { reason: 'permanent' }],
    ['a refusal without results', error(-1, 'The user +1 is not registered.'), { reason: 'permanent' }],
    ['a changed safety number', refusal(-4, 'IDENTITY_FAILURE'), { reason: 'permanent', detail: /safety number/ }],
    ['a rate limit without a time', refusal(-5, 'RATE_LIMIT_FAILURE'), { reason: 'rate' }],
    ['an account that is gone', error(-32602, 'Specified account does not exist'), { reason: 'auth' }],
    [
      'a device that was unlinked',
      error(-32603, 'Failed to send message: [401] Authorization failed! (AuthorizationFailedException)'),
      { reason: 'auth' },
    ],
    ['a broken connection to Signal', refusal(-1, 'NETWORK_FAILURE'), { outcome: 'unknown' }],
    [
      'a rate limit that some recipients have not hit',
      error(-32603, 'Failed to send message: [429] Rate limit exceeded: 429 (RateLimitException)'),
      { outcome: 'unknown' },
    ],
    [
      'a group of which a part was reached',
      { result: { timestamp: 1, results: results('SUCCESS', 'RATE_LIMIT_FAILURE', 'SUCCESS') } },
      { outcome: 'unknown', detail: /1 of 3 recipients/ },
    ],
    [
      'a group with members who have left Signal',
      { result: { timestamp: 7, results: results('SUCCESS', 'UNREGISTERED_FAILURE') } },
      { outcome: 'sent', id: '7' },
    ],
    ['an answer of another shape', { result: 'done' }, { outcome: 'unknown' }],
    ['an error status', { status: 503 }, { reason: 'transient' }],
    ['a connection that breaks before the message arrives', 'drop', { outcome: 'unknown' }],
  ])('for %s', async (_case, fault, { detail, ...expected }: { detail?: RegExp }) => {
    const { double, send } = await start()
    double.failNext('send', fault)
    const result = await send('the text')
    expect(result).toMatchObject('reason' in expected ? { outcome: 'failed', ...expected } : expected)
    if (detail) expect(result).toMatchObject({ detail: expect.stringMatching(detail) })
    expect(JSON.stringify(result)).not.toContain('the text')
  })

  it('has the wait of a rate limit, and says if a captcha lifts it', async () => {
    const { double, send } = await start()
    const response = {
      results: [{ type: 'RATE_LIMIT_FAILURE', token: 'challenge-token', retryAfterSeconds: 86_400 }],
    }
    double.failNext('send', { error: { code: -5, message: 'Failed', data: { response } } })
    const result = await send('hello')
    expect(result).toMatchObject({
      reason: 'rate',
      retryAfterMs: 86_400_000,
      detail: expect.stringContaining('captcha'),
    })
    expect(JSON.stringify(result)).not.toContain('challenge-token')
  })

  it('is unknown if the connection is closed meanwhile', async () => {
    const { double, send, connection } = await start()
    double.failNext('send', 'hang')
    const result = send('hello')
    await double.call('send', 0)
    await connection.close()
    expect(await result).toMatchObject({ outcome: 'unknown' })
  })

  it('is transient if the daemon does not run', async () => {
    const double = await openSignal()
    const { send, lost } = await start({ double })
    await double.close()
    await lost
    expect(await send('hello')).toMatchObject({ outcome: 'failed', reason: 'transient' })
  })
})

describe('what is sent', () => {
  it('goes to a number, a UUID or a group', async () => {
    const { double, send } = await start()
    const uuid = '00000000-0000-4000-8000-000000000002'
    for (const to of [double.to, uuid, double.group]) await send('hi', to)
    const { account } = double.config
    expect(double.calls('send')).toEqual([
      { account, recipient: [double.to], message: 'hi' },
      { account, recipient: [uuid], message: 'hi' },
      { account, groupId: double.group, message: 'hi' },
    ])
  })

  it('has styles, as the gateway finds them in Markdown', async () => {
    const { double, connection } = await start()
    const [chunk] = await splitIntoChunks('👍 **bold** *it* ~~no~~ `code`', signal.limits)
    await connection.send({ key: 'k', to: double.to, text: '', ...chunk })
    expect(double.calls('send')).toMatchObject([
      { message: '👍 bold it no code', textStyle: ['3:4:BOLD', '8:2:ITALIC', '11:2:STRIKETHROUGH', '14:4:MONOSPACE'] },
    ])
  })

  it('may be a file, as a data URI that signal-cli cannot take for a path', async () => {
    const { double, connection } = await start()
    const file = { name: 'Wörk; 1+1.txt', type: 'text/plain; charset=utf-8', data: new TextEncoder().encode('hello') }
    expect(await connection.send({ key: 'k', to: double.to, text: '', file })).toMatchObject({ outcome: 'sent' })
    expect(double.calls('send')[0]!['attachments']).toEqual([
      'data:text/plain;filename=W%C3%B6rk%3B%201%2B1.txt;base64,aGVsbG8=',
    ])
    const empty = { ...file, data: new Uint8Array() }
    expect(await connection.send({ key: 'k', to: double.to, text: '', file: empty })).toMatchObject({
      reason: 'permanent',
    })
  })

  it('may be a typing indicator', async () => {
    const { double, connection } = await start()
    await connection.typing!(double.to, true)
    await connection.typing!(double.group, false)
    const { account } = double.config
    expect(double.calls('sendTyping')).toEqual([
      { account, recipient: [double.to] },
      { account, groupId: double.group, stop: true },
    ])
  })
})

describe('what is received', () => {
  it('is a message with its sender, who also gets the reply', async () => {
    const { double, received } = await start()
    await double.say('Hello?')
    const [message] = await received(1)
    expect(message).toEqual({
      id: expect.stringMatching(/^00000000-0000-4000-8000-000000000002:\d+$/),
      from: { id: '+15551112222', otherIds: ['00000000-0000-4000-8000-000000000002'], name: 'Ann' },
      to: '+15551112222',
      text: 'Hello?',
    })
  })

  it('comes from a UUID if the sender hides the number', async () => {
    const { double, received } = await start()
    const envelope = { sourceNumber: null, sourceUuid: 'u-1', dataMessage: { timestamp: 5, message: 'hi' } }
    await double.emit({ account: double.config.account, envelope })
    expect((await received(1))[0]).toMatchObject({ id: 'u-1:5', from: { id: 'u-1' }, to: 'u-1' })
  })

  it('is from a group, with mentions as text', async () => {
    const { double, received } = await start()
    await double.sayInGroup('what is new?', { mentioned: true })
    await double.sayInGroup('nothing', { mentioned: false })
    const groupInfo = { groupId: double.group }
    const [own, other] = [{ number: double.config.account }, { uuid: 'u-2', number: null }]
    await double.say('\u{FFFC} and \u{FFFC}: 👍 \u{FFFC}', {
      groupInfo,
      mentions: [
        { ...own, start: 0, length: 1 },
        { ...other, start: 6, length: 1 },
        { ...other, start: 9, length: 5 },
        { ...other, start: -1, length: 'x' },
      ],
    })
    await double.say('Yes.', { groupInfo, quote: { id: 1, authorNumber: double.config.account } })
    expect((await received(4)).map(({ to, group, mentioned, text }) => [to, group, mentioned, text])).toEqual([
      [double.group, 'group', true, 'what is new?'],
      [double.group, 'group', false, 'nothing'],
      [double.group, 'group', true, 'and @u-2: 👍 \u{FFFC}'],
      [double.group, 'group', true, 'Yes.'],
    ])
  })

  it('has the message that it answers, whose files are small pictures or only named', async () => {
    const { double, received } = await start()
    double.files.set('small', Buffer.from('thumbnail').toString('base64'))
    const ofAnn = { id: 7, author: 'u-1', authorNumber: null, authorUuid: 'u-1' }
    const attachments = [
      { contentType: 'image/png', filename: null, thumbnail: { id: 'small', contentType: 'image/jpeg' } },
      { contentType: 'application/pdf', filename: 'plan.pdf' },
    ]
    const own = { number: double.config.account, start: 0, length: 1 }
    await double.say('\u{FFFC}', {
      mentions: [own],
      quote: {
        ...ofAnn,
        text: '\u{FFFC} 👍 \u{FFFC}',
        mentions: [own, { uuid: 'u-2', start: 5, length: 1 }],
        attachments,
      },
    })
    await double.say('Why?', { quote: { ...ofAnn, authorNumber: double.config.account, text: 'All is well.' } })
    await double.say('Broken', { quote: { id: 'x', authorUuid: 'u-1' } })
    await double.say('\u{FFFC}', { mentions: [own] })
    await double.say('Broken, too', { quote: 5 })
    const [other, ownOne, ...broken] = await received(4)
    expect([other?.text, other?.quoted]).toEqual([
      '',
      {
        isOwn: false,
        from: { id: 'u-1' },
        text: '👍 @u-2',
        attachments: [
          { name: 'small', type: 'image/jpeg', read: expect.any(Function) },
          { name: 'plan.pdf', type: 'application/pdf' },
        ],
      },
    ])
    expect(await readText(other!.quoted!.attachments![0]!)).toBe('thumbnail')
    expect(ownOne?.quoted).toMatchObject({ id: '7', isOwn: true })
    expect(broken.map(({ text, quoted }) => [text, quoted])).toEqual([
      ['Broken', undefined],
      ['Broken, too', undefined],
    ])
  })

  it('may have files, which are read on demand', async () => {
    const { double, received } = await start()
    double.files.set('abc.png', Buffer.from('picture').toString('base64'))
    const file = { contentType: 'image/png', id: 'abc.png', filename: null, size: 7 }
    await double.say('', { attachments: [file, { contentType: 'text/x-signal-plain', id: 'long' }] })
    await double.say('', { attachments: [file], groupInfo: { groupId: double.group } })
    await double.say('', { attachments: [{ ...file, id: 'gone' }] })
    const [direct, inGroup, gone] = (await received(3)).map(({ attachments }) => attachments!)
    expect(direct).toEqual([{ name: 'abc.png', type: 'image/png', size: 7, read: expect.any(Function) }])
    const { signal: never } = new AbortController()
    expect(await readText(direct![0]!)).toBe('picture')
    await inGroup![0]!.read!(never)
    expect(double.calls('getAttachment').map(({ recipient, groupId }) => recipient ?? groupId)).toEqual([
      double.to,
      double.group,
    ])
    await expect(gone![0]!.read!(never)).rejects.toThrow('error -1')
  })

  it('does not read files that may be viewed only once', async () => {
    const { double, received } = await start()
    await double.say('', { viewOnce: true, attachments: [{ contentType: 'image/png', id: 'abc.png' }] })
    expect((await received(1))[0]!.attachments).toEqual([{ name: 'abc.png', type: 'image/png' }])
  })

  it('does not include own messages, receipts, reactions, or messages for another account', async () => {
    const { double, received, context } = await start()
    const { account } = double.config
    await double.echo('from the phone')
    await double.emit({ account, envelope: { sourceNumber: account, dataMessage: { timestamp: 1, message: 'own' } } })
    await double.emit({ account, envelope: { sourceNumber: '+15551112222', receiptMessage: { isDelivery: true } } })
    await double.say('', { reaction: { emoji: '👍' } })
    const dataMessage = { timestamp: 2, message: 'wrong' }
    await double.emit({ account: '+19', envelope: { sourceNumber: '+15551112222', dataMessage } })
    await double.say('right')
    expect((await received(1)).map(({ text }) => text)).toEqual(['right'])
    expect(context.logged.map(({ message }) => message)).toEqual([
      'message ignored: signal-cli received it for another account',
    ])
  })

  it.each([
    '{',
    'null',
    '[]',
    '{"envelope":null}',
    '{"envelope":{"dataMessage":7}}',
    '{"envelope":{"sourceNumber":{},"dataMessage":{"timestamp":1,"message":"x"}}}',
    '{"envelope":{"sourceNumber":"+1","dataMessage":{"timestamp":"1","message":"x"}}}',
    '{"envelope":{"sourceNumber":"+1","dataMessage":{"timestamp":1,"message":["x"],"attachments":{}}}}',
  ])('ignores what has an unknown shape: %s', async (data) => {
    const { double, received } = await start()
    await double.emit(data)
    await double.say('next')
    expect((await received(1)).map(({ text }) => text)).toEqual(['next'])
  })

  it('reports a message that signal-cli could not read', async () => {
    const { double, received, context } = await start()
    const exception = { message: 'about a secret', type: 'UntrustedIdentityException' }
    await double.emit({ account: double.config.account, envelope: {}, exception })
    await double.say('next')
    await received(1)
    expect(context.logged).toEqual([
      { level: 'warn', fields: { type: 'UntrustedIdentityException' }, message: 'signal-cli could not read a message' },
    ])
  })

  it('is read whole from a stream that is cut anywhere', async () => {
    const { double, received } = await start()
    const envelope = { sourceNumber: '+1', dataMessage: { timestamp: 1, message: 'Grüße 👋' } }
    const data = JSON.stringify({ envelope }).replace('{"env', '{\r\ndata:"env')
    const event = `:\r\n\r\nevent:receive\r\ndata: ${data}\r\n\r\n`
    for (const byte of Buffer.from(event)) double.write(Buffer.of(byte))
    expect((await received(1))[0]!.text).toBe('Grüße 👋')
  })
})

describe('the stream of messages', () => {
  it('is lost when it ends, and continues after the last stored message where events have ids', async () => {
    const double = await open({ hasIds: true })
    const values = new Map<string, Json>()
    const state = {
      get: async (key: string) => values.get(key),
      set: async (key: string, value: Json) => void values.set(key, value),
      delete: async (key: string) => void values.delete(key),
    }
    const first = await start({ double, state })
    await double.say('one')
    await first.received(1)
    await expect.poll(() => values.get('lastEventId')).toBe('0')
    await double.disconnect()
    expect(await first.lost).toEqual(expect.any(String))
    await first.connection.close()
    await double.say('two')
    const second = await start({ double, state })
    expect((await second.received(1)).map(({ text }) => text)).toEqual(['two'])
    expect(double.lastEventIds).toEqual([undefined, '0'])
  })

  it('does not advance past a message that is not stored', async () => {
    const double = await open({ hasIds: true })
    const offered = Promise.withResolvers<void>()
    const receive = () => (offered.resolve(), new Promise<never>(() => undefined))
    const context = { ...createTestContext(), accountId: 'a', receive, lost: vi.fn() }
    void signal.connect(double.config, context)
    await double.opened(1)
    await double.say('one')
    await offered.promise
    expect(await context.state.get('lastEventId')).toBeUndefined()
    context.abort()
  })

  it('is lost when signal-cli falls silent', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { double, received, lost } = await start()
    await double.say('one')
    await received(1)
    await vi.advanceTimersByTimeAsync(61_000)
    expect(await lost).toBe('signal-cli has been silent for too long.')
  })

  it('ends without a report when the connection is closed', async () => {
    const lost = vi.fn()
    const { connection } = await start({ lost })
    await connection.close()
    expect(lost).not.toHaveBeenCalled()
  })
})

describe('login', () => {
  const login = async (double: SignalDouble, account = double.config.account) => {
    const steps = []
    const context = { ...createTestContext(), accountId: 'default' }
    for await (const step of signal.login!({ ...double.config, account }, context)) steps.push(step)
    return steps
  }

  it('shows the link as a QR code, and a new one when it expires', async () => {
    const double = await open({ accounts: [] })
    double.failNext('finishLink', { error: { code: -1, message: 'Link request timed out, please try again.' } })
    const steps = await login(double)
    expect(steps).toEqual([
      { qr: expect.stringMatching(/^sgnl:\/\/linkdevice\?/) },
      { qr: expect.stringMatching(/^sgnl:\/\/linkdevice\?/) },
    ])
    expect(steps[0]).not.toEqual(steps[1])
    expect(double.calls('finishLink')[0]).toMatchObject({ deviceName: 'svc-gateway' })
  })

  it('fails with a sentence if another account was linked', async () => {
    await expect(login(await open(), '+15553333333')).rejects.toThrow('the configuration names +15553333333')
  })

  it('fails with a sentence if the daemon serves a single account', async () => {
    await expect(login(await open({ isSingle: true }))).rejects.toThrow('Start its daemon without -a')
  })

  it('fails with a sentence if signal-cli knows the account already', async () => {
    const double = await open()
    double.failNext('finishLink', { error: { code: -1, message: 'The user +1 already exists\nDelete "/x"' } })
    await expect(login(double)).rejects.toThrow('already has data of this account')
  })
})

describe('with a gateway', () => {
  it('answers a webhook and a message', async () => {
    const double = await open()
    const model = await startModel()
    model.script({ text: 'The build is **green**.' }, { text: 'Hello Ann.' })
    const { post } = await startGateway({
      agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m' } },
      providers: model.providers,
      channels: { signal: { ...double.config, allowFrom: [double.to] } },
    })
    await post('/hooks/agent', { message: 'Go.', channel: 'signal', to: double.to, wakeMode: 'next-heartbeat' })
    await double.call('send', 0)
    await double.opened(1)
    await double.say('Hello?')
    await double.call('send', 1)
    expect((await double.messages()).map(({ to }) => to)).toEqual([double.to, double.to])
    expect((await double.messages())[1]!.text).toBe('Hello Ann.')
  })
})

describe('logout', () => {
  const logout = (double: SignalDouble) =>
    signal.logout!(double.config, { ...createTestContext(), accountId: 'default' })
  const removed = { error: { code: -3, message: 'Error while getting devices: [401] Authorization failed!' } }

  it('deletes the data of an account that Signal does not know any more', async () => {
    const double = await open()
    double.failNext('listDevices', removed)
    await logout(double)
    expect(double.calls('deleteLocalAccountData')).toEqual([{ account: double.config.account }])
  })

  it('deletes nothing while Signal lists the device, and says how to remove it', async () => {
    const double = await open()
    await expect(logout(double)).rejects.toThrow('On the phone, open Settings, Linked devices, and remove it')
    expect(double.calls('deleteLocalAccountData')).toEqual([])
    double.failNext('listDevices', removed)
    const registered = 'Not deleting account, it is still registered. Use --ignore-registered to delete it anyway.'
    double.failNext('deleteLocalAccountData', { error: { code: -1, message: registered } })
    await expect(logout(double)).rejects.toThrow('Signal still lists this device')
  })

  it('has nothing to do if there is no data', async () => {
    const double = await open()
    double.failNext('listDevices', { error: { code: -32602, message: 'Specified account does not exist' } })
    double.failNext('deleteLocalAccountData', { error: { code: -32602, message: 'Failed to load the given account' } })
    await expect(logout(double)).resolves.toBeUndefined()
  })

  it('says that the daemon must not serve a single account', async () => {
    const double = await open({ isSingle: true })
    double.failNext('listDevices', removed)
    await expect(logout(double)).rejects.toThrow('Start its daemon without -a')
  })
})
