// The iMessage channel against a double of imsg.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import imessage from '../../channels/imessage/index.ts'
import { channelContract } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { readText } from '../read-text.ts'
import { type Fault, type ImessageDouble, openImessage } from '../doubles/imessage.ts'
import { startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'
import { connectChannel, openDouble } from './connect-channel.ts'
import { uncertain } from './uncertain.ts'

// Messages does not mark what is passed on. A person is known by the address that they write from.
channelContract(imessage, openImessage, {
  without: ['answerNext', 'badConfig', 'edit', 'forward', 'hideId', 'limitNext', 'redirectNextDownload', 'sayInThread'],
})

type Settings = Parameters<typeof connectChannel>[2] & { double?: ImessageDouble }

/** A double with a connection. Both are closed when the test ends. */
async function start({ double: given, ...settings }: Settings = {}) {
  const double = given ?? (await open())
  const connected = await connectChannel(imessage, double.config, settings)
  const { connection } = connected
  const send = (text: string, to = double.to, key = 'k') => connection.send({ key, to, text })
  return { ...connected, double, send }
}

const open = (options: Parameters<typeof openImessage>[0] = {}) => openDouble(openImessage(options))

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('connecting', () => {
  const connect = (cliPath: string) =>
    imessage.connect({ cliPath }, { ...createTestContext(), accountId: 'a', receive: vi.fn(), lost: vi.fn() })

  it('says that the default program runs only on a Mac', async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform')!
    onTestFinished(() => void Object.defineProperty(process, 'platform', platform))
    Object.defineProperty(process, 'platform', { ...platform, value: 'linux' })
    await expect(connect('imsg')).rejects.toThrow('works only on a Mac. Set cliPath')
  })

  it('says what to do if the program is missing', async () => {
    const { missing } = await open()
    await expect(connect(missing.cliPath)).rejects.toThrow('could not be started (ENOENT). Install imsg')
  })

  it('says what to do if the database cannot be read, and ends the program', async () => {
    const double = await open({ isDatabaseReady: false })
    await expect(connect(double.config.cliPath)).rejects.toThrow('Give Full Disk Access')
    expect(double.pids.map(isRunning)).toEqual([false])
  })

  it('says what to do if imsg is too old', async () => {
    const double = await open()
    double.failNext('status', { error: { code: -32601, message: 'Method not found' } })
    await expect(connect(double.config.cliPath)).rejects.toThrow('imsg is too old')
  })

  it('fails if imsg ends at once', async () => {
    const double = await open()
    double.failNext('watch.subscribe', 'drop')
    await expect(connect(double.config.cliPath)).rejects.toThrow('imsg ended (exit code 7)')
  })
})

describe('the end of a connection', () => {
  it('ends the program', async () => {
    const lost = vi.fn()
    const { double, connection } = await start({ lost })
    await connection.close()
    expect(double.pids.map(isRunning)).toEqual([false])
    expect(lost).not.toHaveBeenCalled()
  })

  it('kills a program that does not end by itself', async () => {
    const { double, connection } = await start({ double: await open({ isStubborn: true }) })
    await connection.close()
    expect(double.pids.map(isRunning)).toEqual([false])
  })

  it('is reported when the program ends, without what it printed', async () => {
    const { double, lost, context, send } = await start()
    await double.disconnect()
    expect(await lost).toBe('imsg ended (exit code 7)')
    expect(await send('hello')).toMatchObject({ outcome: 'failed', reason: 'transient' })
    expect(JSON.stringify(context.logged)).not.toContain('canary')
  })
})

describe('the result of send', () => {
  const failure = (code: number, data?: object): Fault => ({ error: { code, message: 'Failed', data } })
  const disposition = (name: string, isSafe: boolean) => ({ disposition: name, retry_safe: isSafe, detail: 'the text' })

  it('says whether the message may have arrived', async () => {
    const { double, send } = await start({ double: await open({ hasBridge: false }) })
    const faults: [Fault, object][] = [
      [failure(-32001, disposition('may_have_completed', false)), { outcome: 'unknown' }],
      [failure(-32001, disposition('still_in_flight', false)), { outcome: 'unknown' }],
      [failure(-32603), { outcome: 'unknown' }],
      [{ result: 'done' }, { outcome: 'sent' }],
      [failure(-32603, disposition('not_started', true)), { outcome: 'failed', reason: 'transient' }],
      [failure(-32002), { outcome: 'failed', reason: 'transient' }],
      [failure(-32000), { outcome: 'failed', reason: 'transient' }],
      [failure(-32602), { outcome: 'failed', reason: 'permanent' }],
      ['drop', { outcome: 'unknown' }],
    ]
    for (const [fault, expected] of faults) {
      double.failNext('send', fault)
      const result = await send('the text')
      expect(result).toMatchObject(expected)
      expect(JSON.stringify(result)).not.toContain('the text')
    }
  })

  it('is unknown if the connection is closed meanwhile', async () => {
    const { double, send, connection } = await start()
    double.failNext('send.tracked', 'hang')
    const result = send('hello')
    await double.sends(1)
    await connection.close()
    expect(await result).toMatchObject({ outcome: 'unknown' })
  })

  it('is transient if an earlier message blocks imsg, which is started again', async () => {
    const { double, send, lost } = await start()
    double.failNext('send.tracked', failure(-32004, disposition('still_in_flight', false)))
    expect(await send('hello')).toMatchObject({ outcome: 'failed', reason: 'transient' })
    expect(await lost).toContain('blocks imsg')
  })
})

describe('what is sent', () => {
  it('is tracked where the bridge runs and the conversation exists', async () => {
    const { double, send } = await start()
    const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
    await send('one', double.to, 'k1')
    await send('two', double.group, 'k2')
    await send('three', 'new@example.org', 'k3')
    expect(double.sent).toEqual([
      { method: 'send.tracked', to: double.to, text: 'one', attempt_id: uuid },
      { method: 'send.tracked', chat_guid: double.group, text: 'two', attempt_id: uuid },
      { method: 'send', to: 'new@example.org', text: 'three' },
    ])
    expect(double.sent[0]!['attempt_id']).not.toBe(double.sent[1]!['attempt_id'])
  })

  it('arrives once when it is tracked and sent again', async () => {
    const { double, send } = await start()
    const first = await send('hello')
    expect(await send('hello')).toEqual(first)
    expect(double.sent).toHaveLength(1)
  })

  it('may be a file', async () => {
    const { double, connection } = await start()
    const file = { name: '../plan.txt', type: 'text/plain', data: new TextEncoder().encode('the plan') }
    expect(await connection.send({ key: 'k', to: double.to, text: '', file })).toMatchObject({ outcome: 'sent' })
    expect(double.sent).toMatchObject([
      {
        method: 'send',
        to: double.to,
        file: expect.stringMatching(/\/svc-gateway-\w+\/plan\.txt$/),
        content: 'the plan',
      },
    ])
  })

  it('may be a typing indicator, if the bridge runs', async () => {
    const { double, connection } = await start()
    await connection.typing!(double.to, true)
    await connection.typing!(double.group, false)
    expect(double.calls('typing')).toEqual([
      { to: double.to, typing: true },
      { chat_guid: double.group, typing: false },
    ])
    const without = await start({ double: await open({ hasBridge: false }) })
    expect(without.connection.typing).toBeUndefined()
  })
})

describe('what became of a message after a crash', () => {
  /** Sends a message that meets a fault, then connects again with the same state. */
  async function crash(fault: Fault, { hasBridge = true } = {}) {
    const double = await open({ hasBridge })
    const first = await start({ double })
    double.failNext(hasBridge ? 'send.tracked' : 'send', fault)
    const result = await first.send('hello')
    await first.connection.close()
    return { result, ...(await start({ double, state: first.context.state })) }
  }

  it('is known if it was tracked and arrived', async () => {
    const { result, connection, double } = await crash('lose')
    expect(result).toMatchObject({ outcome: 'unknown' })
    expect(await connection.reconcile!(uncertain('k', double.to))).toBe('sent')
  })

  it('is known if it was tracked and did not arrive, also if it is sent again', async () => {
    const { result, connection, double, send } = await crash('drop')
    expect(result).toMatchObject({ outcome: 'unknown' })
    expect(await connection.reconcile!(uncertain('k', double.to))).toBe('absent')
    expect(await send('hello')).toMatchObject({ outcome: 'sent' })
    expect(double.sent).toHaveLength(1)
  })

  it('is not known without the bridge', async () => {
    const { connection, double } = await crash('lose', { hasBridge: false })
    expect(await connection.reconcile!(uncertain('k', double.to))).toBe('unknown')
  })

  it('is known without the bridge if imsg had answered, or had not been asked', async () => {
    const double = await open({ hasBridge: false })
    const first = await start({ double })
    await first.send('hello')
    await first.connection.close()
    const { connection } = await start({ double, state: first.context.state })
    expect(await connection.reconcile!(uncertain('k', double.to))).toBe('sent')
    expect(await connection.reconcile!(uncertain('other', double.to))).toBe('absent')
  })

  it('keeps a tracked message from being sent in another way', async () => {
    const { double, send } = await crash('drop')
    double.setBridge(false)
    for (const _ of [1, 2]) expect(await send('hello')).toMatchObject({ outcome: 'failed', reason: 'transient' })
    expect(double.sent).toEqual([])
    double.setBridge(true)
    expect(await send('hello')).toMatchObject({ outcome: 'sent' })
  })

  it('is remembered for the last messages', async () => {
    const { connection, double, send, context } = await start()
    for (let number = 0; number < 305; number++) await send('hello', double.to, `k${number}`)
    expect(JSON.stringify(await context.state.get('sent')).length).toBeLessThan(10_000)
    expect(await connection.reconcile!(uncertain('k304', double.to))).toBe('sent')
  })
})

describe('what is received', () => {
  it('is a message with its sender, who also gets the reply', async () => {
    const { double, received } = await start()
    await double.say('Hello?')
    expect(await received(1)).toEqual([
      { id: 'G-1', from: { id: '+15551112222', name: 'Ann' }, to: '+15551112222', text: 'Hello?' },
    ])
  })

  it('is from a group, and meant for the account if it replies to one of its messages', async () => {
    const { double, received } = await start()
    await double.sayInGroup('nothing', { mentioned: false })
    await double.sayInGroup('what is new?', { mentioned: true })
    double.add({ chat_guid: double.group, is_group: true, text: 'to Ann', thread_originator_guid: 'G-1' })
    expect((await received(3)).map(({ to, group, mentioned, text }) => [to, group, mentioned, text])).toEqual([
      [double.group, 'group', undefined, 'nothing'],
      [double.group, 'group', true, 'what is new?'],
      [double.group, 'group', undefined, 'to Ann'],
    ])
  })

  it('has the message that it answers, whether or not the database still has that', async () => {
    const { double, received } = await start()
    await double.say('The plan \u{FFFC}')
    await double.say('Why?', { thread_originator_guid: 'G-1' })
    await double.say('And this?', { reply_to_guid: 'gone' })
    await double.echo('All is well.')
    await double.say('Since when?', { reply_to_guid: 'G-4' })
    expect((await received(4)).map(({ quoted }) => quoted)).toEqual([
      undefined,
      { id: 'G-1', text: 'The plan', from: { id: '+15551112222' } },
      { id: 'gone' },
      { id: 'G-4', isOwn: true, text: 'All is well.' },
    ])
  })

  it('may have files, but only those that Messages keeps', async () => {
    const { double, received } = await start()
    const path = join(double.attachments, 'a.png')
    await writeFile(path, 'picture')
    const file = { filename: '~/x/a.png', transfer_name: 'cat.png', mime_type: 'image/png', total_bytes: 7 }
    const attachments = [
      { ...file, original_path: path },
      { ...file, original_path: `${double.attachments}/../../../etc/passwd` },
      { ...file, original_path: path, missing: true },
    ]
    await double.say('\u{FFFC}', { attachments })
    const [message] = await received(1)
    const known = { name: 'cat.png', type: 'image/png', size: 7 }
    expect(message).toMatchObject({ text: '' })
    expect(message!.attachments).toEqual([{ ...known, read: expect.any(Function) }, known, known])
    expect(await readText(message!.attachments![0]!)).toBe('picture')
  })

  it('does not include own messages, also not those to oneself, or reactions', async () => {
    const { double, received } = await start()
    await double.echo('from the Mac')
    double.add({ text: 'from the Mac', sender: 'gateway@example.org' })
    double.add({ text: 'Liked "x"', is_reaction: true })
    double.add({ text: '' })
    await double.say('right')
    expect((await received(1)).map(({ text }) => text)).toEqual(['right'])
  })

  it('does not include what has an unknown shape', async () => {
    const { double, received } = await start()
    const row = { id: 1, guid: 'g', sender: 'a', text: 'x' }
    const strange = [{ id: '1' }, { sender: [] }, { text: {}, attachments: 7 }, { is_group: true, chat_guid: null }]
    double.print('no JSON')
    for (const message of [null, { id: 99, result: {} }, { method: 'message' }, { method: 'bridge.event', params: {} }])
      double.print(JSON.stringify(message))
    for (const fields of strange)
      double.print(JSON.stringify({ method: 'message', params: { message: { ...row, ...fields } } }))
    await double.say('next')
    expect((await received(1)).map(({ text }) => text)).toEqual(['next'])
  })

  it('continues after the last stored message when imsg ends', async () => {
    const first = await start()
    await first.double.say('one')
    await first.received(1)
    await expect.poll(() => first.context.state.get('rowid')).toBe(1)
    await first.double.disconnect()
    await first.lost
    await first.connection.close()
    await first.double.say('two')
    const second = await start({ double: first.double, state: first.context.state })
    expect((await second.received(1)).map(({ text }) => text)).toEqual(['two'])
    expect(first.double.calls('watch.subscribe').map(({ since_rowid }) => since_rowid)).toEqual([-1, 1])
  })

  it.each([1, 2, 3, 64, 100])('begins after the %i messages of before, also if imsg ends at once', async (count) => {
    const double = await open()
    for (let number = 0; number < count; number++) double.add({ text: 'old' })
    const first = await start({ double })
    await first.connection.close()
    await double.say('new')
    const { received } = await start({ double, state: first.context.state })
    expect((await received(1)).map(({ text }) => text)).toEqual(['new'])
  })

  it('does not advance past a message that is not stored', async () => {
    const offered = Promise.withResolvers<void>()
    const receive = async (): Promise<never> => {
      offered.resolve()
      throw new Error('the disk is full')
    }
    const { double, context, connection } = await start({ receive })
    await double.say('one')
    await offered.promise
    await connection.close()
    expect(await context.state.get('rowid')).toBe(0)
  })

  it('may be more messages than can wait, and then comes again', async () => {
    const stored = Promise.withResolvers<void>()
    const { double, send, received } = await start({ beforeReceive: () => stored.promise })
    for (let number = 1; number <= 2_500; number++) await double.say(`${number}`)
    expect(await send('meanwhile')).toMatchObject({ outcome: 'sent' })
    stored.resolve()
    expect((await received(2_500)).map(({ text }) => Number(text))).toEqual(
      Array.from({ length: 2_500 }, (_, index) => index + 1),
    )
    const cursors = double.calls('watch.subscribe').map(({ since_rowid }) => since_rowid)
    expect(cursors.slice(0, 2)).toEqual([-1, 1_000])
  })

  it('does not advance past a message about which imsg was asked when it ended', async () => {
    const { double, messages, lost, connection, context } = await start()
    double.failNext('message.send_status', 'drop')
    await double.sayInGroup('one', { mentioned: true })
    await double.say('two')
    await lost
    await connection.close()
    expect(messages).toEqual([])
    const second = await start({ double, state: context.state })
    expect((await second.received(2)).map(({ text }) => text)).toEqual(['one', 'two'])
  })

  it.each(['{"method":"watch.overflow","params":{"subscription":1}}', '{"method":"error","params":{}}'])(
    'is lost when imsg stops watching: %s',
    async (line) => {
      const { double, lost } = await start()
      double.print(line)
      expect(await lost).toBe('imsg stopped watching for messages')
    },
  )
})

describe('with a gateway', () => {
  it('answers a webhook and a message', async () => {
    const double = await open()
    const model = await startModel()
    model.script({ text: 'The build is green.' }, { text: 'Hello Ann.' })
    const { post, logged } = await startGateway({
      agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m' } },
      providers: model.providers,
      channels: { imessage: { ...double.config, allowFrom: [double.to] } },
    })
    await post('/hooks/agent', { message: 'Go.', channel: 'imessage', to: double.to, wakeMode: 'next-heartbeat' })
    await double.sends(1)
    await double.say('Hello?')
    await double.sends(2)
    expect((await double.messages())[1]).toEqual({ to: double.to, text: 'Hello Ann.' })
    expect(logged.join('\n')).not.toContain('canary')
  })

  it('reads a message in a group that begins with its name, and logs how to read all of them', async () => {
    const double = await open()
    const model = await startModel()
    model.script({ text: 'All is well.' }, { text: 'Since Monday.' })
    const { logged } = await startGateway({
      agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m' }, main: { name: 'Max' } },
      providers: model.providers,
      channels: { imessage: { ...double.config, allowFrom: ['+1 (555) 111-2222'] } },
    })
    await expect.poll(() => double.calls('watch.subscribe')).toHaveLength(1)
    for (const text of ['Hello all.', 'Nobody there?']) await double.sayInGroup(text, { mentioned: false })
    await double.sayInGroup('Max, how is the build?', { mentioned: false })
    await double.sends(1)
    expect(await double.messages()).toEqual([{ to: double.group, text: 'All is well.' }])
    expect(await model.prompt(0)).toContain('how is the build?')
    const ignored = logged.map((line) => JSON.parse(line)).filter(({ message }) => message.includes('ignored'))
    expect(ignored.map(({ level, group }) => [level, group])).toEqual([
      ['info', double.group],
      ['debug', double.group],
    ])
    expect(ignored[0]).toMatchObject({ setting: `channels.imessage.groups.${double.group}.requireMention` })
    await double.sayInGroup('Since when?', { mentioned: true })
    await double.sends(2)
    expect((await double.messages())[1]).toEqual({ to: double.group, text: 'Since Monday.' })
  })
})
