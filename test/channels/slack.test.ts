// The Slack channel: the channel contract, and what is special about Slack, with its own libraries against a double.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import slack from '../../channels/slack/index.ts'
import { isAuthError } from '../../core/plugin/errors.ts'
import { channelContract } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { readText } from '../read-text.ts'
import { ids, shareOf, startSlack } from '../doubles/slack.ts'
import { startObedientModel } from '../doubles/obedient.ts'
import { startGateway } from '../helpers.ts'
import { connectChannel, openDouble } from './connect-channel.ts'
import { uncertain } from './uncertain.ts'

channelContract(slack, startSlack, { without: ['hideId'] })

const open = () => openDouble(startSlack())

async function connect(double: Awaited<ReturnType<typeof open>>, settings: Parameters<typeof connectChannel>[2] = {}) {
  const { connection, received, messages, reasons, context } = await connectChannel(slack, double.config, settings)
  const send = (message: Partial<Parameters<typeof connection.send>[0]> = {}) =>
    connection.send({ key: 'k', to: ids.room, text: 'hello', ...message })
  return { ...connection, send, next: received, received: messages, lost: reasons, context, logged: context.logged }
}

describe('sending to Slack', () => {
  it('posts Markdown with the key, in the thread', async () => {
    const double = await open()
    const { send } = await connect(double)
    await send({ text: '**bold**', threadId: '1700000000.000001' })
    expect(double.posts).toMatchObject([
      {
        channel: ids.room,
        text: '**bold**',
        thread_ts: '1700000000.000001',
        metadata: { event_payload: { key: 'k' } },
      },
    ])
    const call = double.calls.find(({ method }) => method === 'chat.postMessage')
    expect(call?.params).toMatchObject({ markdown_text: '**bold**' })
    expect(call?.params).not.toHaveProperty('text')
  })

  it('opens the direct messages with a person once', async () => {
    const double = await open()
    const { send } = await connect(double)
    for (const key of ['a', 'b']) await send({ key, to: ids.ann })
    expect(double.posts.map(({ channel }) => channel)).toEqual([ids.direct, ids.direct])
    expect(double.calls.filter(({ method }) => method === 'conversations.open')).toHaveLength(1)
  })

  it.each([
    ['channel_not_found', { outcome: 'failed', reason: 'permanent' }],
    ['token_revoked', { outcome: 'failed', reason: 'auth' }],
    ['invalid_auth', { outcome: 'failed', reason: 'auth' }],
    ['ratelimited', { outcome: 'failed', reason: 'rate' }],
    ['service_unavailable', { outcome: 'failed', reason: 'transient' }],
    ['internal_error', { outcome: 'unknown' }],
    ['<html>oops</html>', { outcome: 'unknown' }],
  ])('reports the error %s as what it is', async (error, result) => {
    const double = await open()
    const { send } = await connect(double)
    double.faultNext('chat.postMessage', { error })
    const answer = await send()
    expect(answer).toMatchObject(result)
    expect(JSON.stringify(answer)).not.toContain('oops')
  })

  it.each([
    ['lost answer', 'lose' as const, 'unknown'],
    ['lost request', 'drop' as const, 'unknown'],
    ['server error', { status: 500 }, 'unknown'],
    ['answer of a proxy', { status: 200, body: '<html>oops</html>' }, 'unknown'],
    ['outage', { status: 503 }, 'failed'],
    ['rate limit', { status: 429, headers: { 'retry-after': '7' } }, 'failed'],
    ['rate limit without a time', { status: 429 }, 'unknown'],
  ])('calls Slack once after this, though its library repeats calls: %s', async (_what, fault, outcome) => {
    const double = await open()
    const { send } = await connect(double)
    double.faultNext('chat.postMessage', fault)
    expect((await send()).outcome).toBe(outcome)
    expect(double.calls.filter(({ method }) => method === 'chat.postMessage')).toHaveLength(1)
  })

  it('has sent nothing if the direct messages cannot be opened', async () => {
    const double = await open()
    const { send } = await connect(double)
    double.faultNext('conversations.open', 'lose')
    expect(await send({ to: ids.ann })).toMatchObject({ outcome: 'failed', reason: 'transient' })
    double.faultNext('conversations.open', { error: 'user_not_found' })
    expect(await send({ to: ids.ann })).toMatchObject({ outcome: 'failed', reason: 'permanent' })
  })
})

describe('a button of Slack', () => {
  const choices = [{ label: 'Yes', text: 'yes, please' }]

  it('is pressed in a thread of a channel, and confirmed when that is stored', async () => {
    const double = await open()
    const [stored, called] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { send, next } = await connect(double, {
      beforeReceive: async () => {
        called.resolve()
        await stored.promise
      },
    })
    await send({ text: '**May** I?', threadId: '1700000000.000001', choices })
    const call = double.calls.find(({ method }) => method === 'chat.postMessage')
    expect(call?.params).toMatchObject({ text: '**May** I?', metadata: expect.stringContaining('"key":"k"') })
    await double.press('Yes')
    await called.promise
    expect(double.confirmed).toEqual([])
    stored.resolve()
    await double.until(() => double.confirmed.length === 1)
    expect(await next(1)).toEqual([
      {
        id: expect.stringMatching(/^C0ROOM:U0ANN:/),
        from: { id: ids.ann, name: 'Ann Lee' },
        to: ids.room,
        threadId: '1700000000.000001',
        group: 'channel',
        mentioned: true,
        text: 'yes, please',
      },
    ])
  })

  it('is ignored if Slack says something else, which is confirmed nevertheless', async () => {
    const double = await open()
    const { send, next } = await connect(double)
    await send({ choices })
    const broken = [
      { type: 'view_submission' },
      { actions: [] },
      { actions: null },
      { actions: [{ type: 'static_select', value: 'x', action_ts: '1' }] },
      { actions: [{ type: 'button', action_ts: '1' }] },
      { user: 'U0ANN' },
      { channel: undefined },
    ]
    for (const more of broken) await double.press('Yes', { more })
    double.sendRaw(JSON.stringify({ type: 'interactive', envelope_id: 'null', payload: null }))
    await double.say('and on')
    expect((await next(1)).map(({ text }) => text)).toEqual(['and on'])
    await double.until(() => double.confirmed.length === broken.length + 2)
  })
})

describe('sending a file to Slack', () => {
  const file = { name: 'report.txt', type: 'text/plain', data: new TextEncoder().encode('All is well.') }

  it('uploads it and shares it in the thread', async () => {
    const double = await open()
    const { send } = await connect(double)
    expect(await send({ file, threadId: '1700000000.000001' })).toMatchObject({ outcome: 'sent' })
    expect(double.posts).toMatchObject([
      { channel: ids.room, text: '', thread_ts: '1700000000.000001', files: [{ name: 'report.txt' }] },
    ])
    expect(double.files[0]!.data.toString()).toBe('All is well.')
  })

  it.each(['files.getUploadURLExternal', 'upload'])(
    'is repeated if %s fails, since nobody has seen it',
    async (step) => {
      const double = await open()
      const { send } = await connect(double)
      double.faultNext(step, { status: 500 })
      expect(await send({ file })).toMatchObject({ outcome: 'failed', reason: 'transient' })
      expect(double.posts).toEqual([])
    },
  )

  it('finds out after a lost answer whether it was shared', async () => {
    const double = await open()
    const { send, reconcile } = await connect(double)
    double.faultNext('files.completeUploadExternal', 'lose')
    expect(await send({ key: 'shared', file })).toMatchObject({ outcome: 'unknown' })
    double.faultNext('files.completeUploadExternal', 'drop')
    expect(await send({ key: 'unshared', file })).toMatchObject({ outcome: 'unknown' })
    expect(await reconcile!(uncertain('shared', ids.room))).toBe('sent')
    expect(await reconcile!(uncertain('unshared', ids.room))).toBe('absent')
  })
})

describe('asking Slack for a message', () => {
  it('looks into the thread, which the history of the channel does not contain', async () => {
    const double = await open()
    const { send, reconcile } = await connect(double)
    const threadId = '1700000000.000001'
    double.loseNextAnswer()
    expect(await send({ threadId })).toMatchObject({ outcome: 'unknown' })
    expect(await reconcile!(uncertain('k', ids.room, { threadId }))).toBe('sent')
    double.history.push({ channel: ids.room, ts: '1700000000.000002', text: 'another thread' })
    expect(await reconcile!(uncertain('k', ids.room, { threadId: '1700000000.000002' }))).toBe('absent')
  })

  it('looks at older pages, and gives up in a conversation that is too busy', async () => {
    const double = await open()
    const { send, reconcile } = await connect(double)
    await send()
    const [post] = double.posts
    for (let index = 0; index < 300; index++) double.history.push({ ...post!, metadata: undefined })
    expect(await reconcile!(uncertain('k', ids.room))).toBe('sent')
    for (let index = 0; index < 5000; index++) double.history.push({ ...post!, metadata: undefined })
    expect(await reconcile!(uncertain('k', ids.room))).toBe('unknown')
  })

  it('looks into the direct messages with a person', async () => {
    const double = await open()
    const { send, reconcile } = await connect(double)
    await send({ to: ids.ann })
    expect(await reconcile!(uncertain('k', ids.ann))).toBe('sent')
  })

  it('returns unknown if the app may not read the conversation, and rejects if Slack cannot answer now', async () => {
    const double = await open()
    const { reconcile } = await connect(double)
    double.faultNext('conversations.history', { error: 'missing_scope' })
    expect(await reconcile!(uncertain('k', ids.room))).toBe('unknown')
    for (const fault of ['drop' as const, { error: 'ratelimited' }, { status: 500 }]) {
      double.faultNext('conversations.history', fault)
      await expect(reconcile!(uncertain('k', ids.room))).rejects.toThrow(/./)
    }
  })
})

describe('connecting to Slack', () => {
  const failure = async (config: Awaited<ReturnType<typeof open>>['config']): Promise<unknown> =>
    await slack
      .connect(config, { ...createTestContext(), accountId: 'default', receive: vi.fn(), lost: vi.fn() })
      .catch((error: unknown) => error)

  it('rejects with an AuthError if Slack refuses one of the tokens', async () => {
    const { config } = await open()
    for (const name of ['botToken', 'appToken']) {
      const error = await failure({ ...config, [name]: 'canary-wrong' })
      expect(isAuthError(error)).toBe(true)
      expect(String(error)).not.toContain('canary')
    }
  })

  it.each(['auth.test', 'apps.connections.open'])('can be tried again if %s fails otherwise', async (method) => {
    const double = await open()
    for (const fault of ['drop' as const, { status: 500 }, { error: 'internal_error' }]) {
      double.faultNext(method, fault)
      const error = await failure(double.config)
      expect(error).toBeInstanceOf(Error)
      expect(isAuthError(error)).toBe(false)
    }
    await (await connect(double)).close()
  })

  it('prints nothing', async () => {
    const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => undefined),
    )
    onTestFinished(() => spies.forEach((spy) => spy.mockRestore()))
    const double = await open()
    const { send, close, next } = await connect(double)
    await send()
    double.faultNext('chat.postMessage', { status: 500 })
    await send()
    double.sendRaw('oops')
    await double.say('hello')
    await next(1)
    await double.disconnect()
    await close()
    await failure(double.badConfig)
    expect(spies.flatMap(({ mock }) => mock.calls)).toEqual([])
  })
})

describe('a message from Slack', () => {
  it('is confirmed when it is stored, not before', async () => {
    const double = await open()
    const stored = Promise.withResolvers<void>()
    const called = Promise.withResolvers<void>()
    const { next } = await connect(double, {
      beforeReceive: async () => {
        called.resolve()
        await stored.promise
      },
    })
    await double.say('hello')
    await called.promise
    expect(double.confirmed).toEqual([])
    stored.resolve()
    await double.until(() => double.confirmed.length === 1)
    expect(await next(1)).toHaveLength(1)
  })

  it('is delivered again with the same id if it was not confirmed', async () => {
    const double = await open()
    const [called, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
    const first = await connect(double, { beforeReceive: () => (called.resolve(), ended.promise) })
    await double.say('hello')
    await called.promise
    ended.reject(new Error('the connection has ended'))
    await first.close()
    expect(double.confirmed).toEqual([])
    const [envelope] = double.waiting
    const second = await connect(double)
    await second.next(1)
    double.waiting.push({ ...envelope!, envelope_id: 'again' })
    double.redeliver()
    const messages = await second.next(2)
    expect(new Set(messages.map(({ id }) => id)).size).toBe(1)
  })

  it('has one id, though Slack reports a mention twice', async () => {
    const double = await open()
    const { next } = await connect(double)
    const message = { channel: ids.room, user: ids.ann, ts: '1700000000.000007', text: `Hi <@${ids.bot}> there` }
    await double.deliver({ ...message, type: 'app_mention' })
    await double.deliver({ ...message, type: 'message', channel_type: 'channel' })
    const [one, two] = await next(2)
    expect(one).toEqual({ ...two, attachments: [] })
    expect(one).toMatchObject({
      id: `${ids.room}:1700000000.000007`,
      group: 'channel',
      mentioned: true,
      text: 'Hi there',
    })
  })

  it('from a group of direct messages is from a group, whatever event reports it', async () => {
    const double = await open()
    const { next } = await connect(double)
    const mention = { type: 'app_mention', channel: ids.group, text: `<@${ids.bot}> hi`, channel_type: undefined }
    await double.say('', mention)
    await double.say('hello', { channel: ids.group, channel_type: 'mpim' })
    expect((await next(2)).map(({ group, mentioned }) => [group, mentioned])).toEqual([
      ['group', true],
      ['group', false],
    ])
  })

  it('mentions the bot if it replies to the bot in a thread', async () => {
    const double = await open()
    const { next } = await connect(double)
    const thread = { channel: ids.room, channel_type: 'channel', thread_ts: '1700000000.000001' }
    await double.say('yes', { ...thread, parent_user_id: ids.bot })
    await double.say('no', { ...thread, parent_user_id: ids.ann })
    const messages = await next(2)
    expect(messages.map(({ mentioned }) => mentioned)).toEqual([true, false])
    expect(messages.map(({ threadId }) => threadId)).toEqual(['1700000000.000001', '1700000000.000001'])
  })

  it('quotes the first message of its thread, asked for once, and whole only the first time', async () => {
    const double = await open()
    const { next } = await connect(double)
    const text = 'The plan is ready. '.repeat(50).trim()
    const ts = '1700000000.000003'
    double.history.push({ channel: ids.room, ts, text: `${text} <https://a.example|Here>`, user: ids.ann })
    const thread = { channel: ids.room, channel_type: 'channel', thread_ts: ts, parent_user_id: ids.ann }
    for (const word of ['summarize', 'translate']) await double.say(`<@${ids.bot}> ${word}`, thread)
    const [first, second] = await next(2)
    const quoted = { id: `${ids.room}:${ts}`, isOwn: false, from: { id: ids.ann, name: 'Ann Lee' } }
    expect(first!.quoted).toEqual({ ...quoted, text: `${text} Here (https://a.example)`, attachments: [] })
    expect(second!.quoted).toEqual({ ...quoted, text: expect.stringMatching(/^The plan is ready\..{1,190} …$/) })
    const asked = double.calls.filter(({ method }) => method === 'conversations.replies')
    expect(asked).toMatchObject([{ params: { channel: ids.room, ts, limit: '1' } }])
  })

  it('quotes a report of an app by its card, and its own message of a time that two conversations have', async () => {
    const double = await open()
    const { send, next } = await connect(double)
    const card = { pretext: 'Alert', title: 'Disk full', text: 'on &lt;db-1&gt;', fallback: 'unused' }
    const ts = '1700000000.000004'
    const report = { channel: ids.room, ts, text: '', bot_id: 'B0ALERTS', username: 'Alerts', attachments: [card, 7] }
    double.history.push(report)
    await double.say('why?', { channel: ids.room, channel_type: 'channel', thread_ts: ts })
    const sent = await send({ to: ids.ann, text: 'All is well.' })
    const own = double.posts[0]!.ts
    await double.say('since when?', { thread_ts: own, parent_user_id: ids.bot })
    const [first, second] = await next(2)
    expect(first!.quoted).toMatchObject({
      isOwn: false,
      from: { id: 'B0ALERTS', name: 'Alerts' },
      text: expect.stringMatching(/^Alert\nDisk full\non <db-1>/),
    })
    expect(sent).toEqual({ outcome: 'sent', id: `${ids.direct}:${own}` })
    expect(second!.quoted).toMatchObject({ id: `${ids.direct}:${own}`, isOwn: true, text: 'All is well.' })
  })

  it('quotes its own file by the id that sending it gave', async () => {
    const double = await open()
    const { send, next } = await connect(double)
    const sent = await send({ file: { name: 'plan.txt', type: 'text/plain', data: Buffer.from('The plan.') } })
    await double.answer('what is this?', 'own')
    const [message] = await next(1)
    expect(sent).toEqual({ outcome: 'sent', id: message!.quoted!.id })
    expect(message!.quoted).toMatchObject({ isOwn: true, attachments: [{ name: 'plan.txt' }] })
  })

  it('quotes what began a thread as the words of whoever wrote them, not of whoever shared them', async () => {
    const double = await open()
    const { next } = await connect(double)
    const ts = '1700000000.000006'
    double.history.push({ channel: ids.room, ts, text: '', user: ids.ann, attachments: [shareOf('one')] })
    await double.say('why?', { channel: ids.room, channel_type: 'channel', thread_ts: ts })
    const [message] = await next(1)
    expect(message!.quoted).toEqual({
      id: `${ids.room}:${ts}`,
      isOwn: false,
      from: { name: 'Eve' },
      text: 'one',
      attachments: [],
    })
  })

  it('quotes only an id if Slack does not give the first message of the thread', async () => {
    const double = await open()
    const { next } = await connect(double)
    const ts = '1700000000.000005'
    double.history.push({ channel: ids.room, ts, text: 'root' })
    double.faultNext('conversations.replies', { error: 'missing_scope' })
    for (const text of ['one', 'two']) await double.say(text, { channel: ids.room, thread_ts: ts })
    expect((await next(2)).map(({ quoted }) => quoted)).toMatchObject([
      { id: `${ids.room}:${ts}` },
      { id: `${ids.room}:${ts}`, text: 'root' },
    ])
  })

  it('has what it shares as quoted if somebody says something about it, and else as forwarded', async () => {
    const double = await open()
    const { next } = await connect(double)
    const url = double.keepFile('plan.txt', { type: 'text/plain', body: 'The plan.' })
    const file = { name: 'plan.txt', mimetype: 'text/plain', url_private: url }
    const card = { text: 'a preview of a page', from_url: 'https://a.example' }
    await double.say('summarize this', { attachments: [card, shareOf('one &amp; two', { files: [file] })] })
    await double.say('', { attachments: [shareOf('one'), shareOf('two', { is_share: undefined, author_name: 'Bob' })] })
    await double.say('only a link', { attachments: [card, null] })
    const [comment, forward, link] = await next(3)
    const from = { id: 'U0EVE', name: 'Eve' }
    expect(comment).toMatchObject({ text: 'summarize this', quoted: { from, isOwn: false, text: 'one & two' } })
    expect(await readText(comment!.quoted!.attachments![0]!)).toBe('The plan.')
    expect(forward).toMatchObject({ text: 'one\n\ntwo', forwardedFrom: { name: 'Eve, Bob' } })
    expect(link).not.toHaveProperty('quoted')
    expect([comment, link].map((message) => message!.forwardedFrom)).toEqual([undefined, undefined])
  })

  it('has the name of its sender, looked up once, if Slack tells it', async () => {
    const double = await open()
    const { next } = await connect(double)
    double.faultNext('users.info', { error: 'missing_scope' })
    for (const text of ['one', 'two', 'three']) await double.say(text)
    expect((await next(3)).map(({ from }) => from)).toEqual([
      { id: ids.ann },
      { id: ids.ann, name: 'Ann Lee' },
      { id: ids.ann, name: 'Ann Lee' },
    ])
    expect(double.calls.filter(({ method }) => method === 'users.info')).toHaveLength(2)
  })

  it.each([
    ['a &lt;b&gt; &amp;amp; c', 'a <b> &amp; c'],
    ['see <https://a.example/x?a=1&amp;b=2>', 'see https://a.example/x?a=1&b=2'],
    [
      'see <https://a.example|a.example> and <https://a.example|this>',
      'see https://a.example and this (https://a.example)',
    ],
    ['<@U0BOB> in <#C0ROOM|general>, <!here>, <!subteam^S1|@team>', '<@U0BOB> in #general, @here, @team'],
    [`<@${ids.bot}|bot> hello`, 'hello'],
  ])('has its markup resolved: %s', async (raw, text) => {
    const double = await open()
    const { next } = await connect(double)
    await double.say(raw)
    expect((await next(1))[0]!.text).toBe(text)
  })

  it.each([
    { subtype: 'message_changed', message: { text: 'edited' } },
    { subtype: 'message_deleted' },
    { subtype: 'channel_join' },
    { subtype: 'bot_message', bot_id: 'B0OTHER' },
    { bot_id: 'B0OTHER' },
    { user: ids.bot },
    { user: undefined },
    { ts: 5 },
    { channel: null },
    { type: 'reaction_added' },
  ])('is ignored and confirmed if it is none of a person: %j', async (event) => {
    const double = await open()
    const { next } = await connect(double)
    await double.say('not this', event)
    await double.say('this')
    expect((await next(1)).map(({ text }) => text)).toEqual(['this'])
    await double.until(() => double.confirmed.length === 2)
  })

  it('cannot end the process, whatever its shape', async () => {
    const double = await open()
    const { next, lost } = await connect(double)
    const shapes = [
      '',
      'null',
      '[]',
      '{}',
      '{"type":7}',
      '{"type":"events_api"}',
      '{"type":"events_api","payload":null}',
    ]
    for (const shape of shapes) double.sendRaw(shape)
    double.sendRaw('{"type":"events_api","envelope_id":"x","payload":{"event":null}}')
    double.sendRaw('{"type":"slash_commands","envelope_id":"y"}')
    await double.say('hello', { text: { not: 'text' }, files: [null, 7, {}], thread_ts: 5 })
    expect(await next(1)).toMatchObject([{ text: '', attachments: [{ name: 'file' }] }])
    expect(lost).toEqual([])
  })
})

describe('what was written while the account was not connected', () => {
  const cursorOf = ({ context }: Awaited<ReturnType<typeof connect>>) => context.state.get('cursor')

  /** An account that has received a message, and is closed. */
  async function leave(double: Awaited<ReturnType<typeof open>>) {
    const account = await connect(double)
    await double.say('known')
    await account.next(1)
    await expect.poll(() => cursorOf(account)).toBe(double.history.at(-1)!.ts)
    await account.close()
    return account
  }

  it('is read from the history, with threads and files, after Slack has given up to deliver it', async () => {
    const double = await open()
    // The first message of a thread, from before the first start.
    const root = { channel: ids.room, ts: `${Math.floor(Date.now() / 1000) - 3600}.000001`, text: 'root' }
    double.history.push(root)
    const { context, received } = await leave(double)
    expect(received).toHaveLength(1)
    const url = double.keepFile('a.png', { type: 'image/png', body: 'png' })
    const file = { name: 'a.png', mimetype: 'image/png', url_private: url }
    await double.say('in a thread', { channel: ids.room, thread_ts: root.ts, parent_user_id: ids.bot })
    await double.say('in the channel', { channel: ids.room, subtype: 'file_share', files: [file] })
    await double.say('in the group', { channel: ids.group })
    await double.say('of a bot', { bot_id: 'B0OTHER' })
    double.forget()
    const second = await connect(double, { context })
    const messages = await second.next(4)
    expect(messages.map(({ text, group }) => [text, group])).toEqual([
      ['known', undefined],
      ['in the group', 'group'],
      ['in a thread', 'channel'],
      ['in the channel', 'channel'],
    ])
    expect(messages[0]!.id).toBe(received[0]!.id)
    expect(messages[2]).toMatchObject({ threadId: root.ts, mentioned: true })
    expect(messages[3]!.attachments).toMatchObject([{ name: 'a.png' }])
    await double.say('new')
    await expect.poll(() => cursorOf(second)).toBe(double.history.at(-1)!.ts)
  })

  it('is read in a busy conversation, too, and in a busy thread', async () => {
    const double = await open()
    const { context } = await leave(double)
    const seconds = Math.floor(Date.now() / 1000) + 1
    const root = `${seconds}.000000`
    const write = (count: number, fields: { text?: string; thread_ts?: string }) => {
      for (let index = 0; index < count; index++) {
        const ts = `${seconds}.${String(double.history.length).padStart(6, '0')}`
        double.history.push({ channel: ids.room, user: ids.ann, type: 'message', text: 'noise', ts, ...fields })
      }
    }
    double.history.push({ channel: ids.room, user: ids.ann, type: 'message', text: 'root', ts: root })
    write(1, { text: 'the oldest' })
    write(1, { text: 'the oldest in the thread', thread_ts: root })
    write(410, {})
    write(410, { thread_ts: root })
    double.forget()
    const { next } = await connect(double, { context })
    const texts = (await next(824)).map(({ text }) => text)
    expect(texts.filter((text) => text !== 'noise')).toEqual([
      'known',
      'root',
      'the oldest',
      'the oldest in the thread',
    ])
  })

  it('does not move the cursor while it is missing', async () => {
    const double = await open()
    const first = await leave(double)
    const before = await cursorOf(first)
    await double.say('missed')
    double.forget()
    double.faultNext('users.conversations', { status: 500 })
    const second = await connect(double, { context: first.context })
    await expect
      .poll(() => second.logged.some(({ message }) => message.startsWith('missed messages could not be read')))
      .toBe(true)
    await double.say('new')
    await double.until(() => double.confirmed.length === 2)
    await second.close()
    expect(await cursorOf(second)).toBe(before)
    const third = await connect(double, { context: first.context })
    expect((await third.next(3)).map(({ text }) => text)).toEqual(['known', 'missed', 'new'])
  })

  it('is read at the pace that Slack asks for, without conversations that are closed to the app', async () => {
    const double = await open()
    const { context } = await leave(double)
    await double.say('missed', { channel: ids.room })
    double.forget()
    double.faultNext('conversations.history', { error: 'missing_scope' })
    double.faultNext('conversations.history', { status: 429, headers: { 'retry-after': '1' } })
    const { next } = await connect(double, { context })
    expect((await next(1)).map(({ text }) => text)).toEqual(['missed'])
  })
})

describe('a file from Slack', () => {
  async function receiveFile(file: object, double: Awaited<ReturnType<typeof open>>) {
    const { next } = await connect(double)
    await double.say('', { subtype: 'file_share', files: [{ name: 'a.png', mimetype: 'image/png', size: 3, ...file }] })
    return (await next(1))[0]!.attachments!
  }
  const signal = new AbortController().signal

  it('is described and can be read', async () => {
    const double = await open()
    const url = double.keepFile('a.png', { type: 'image/png', body: 'png' })
    const [attachment] = await receiveFile({ url_private_download: url }, double)
    expect(attachment).toMatchObject({ name: 'a.png', type: 'image/png', size: 3 })
    expect(await readText(attachment!)).toBe('png')
  })

  it('is not replaced by the page to sign in, which Slack sends if a scope is missing', async () => {
    const double = await open()
    const [attachment] = await receiveFile(
      { url_private: `${new URL(double.config.apiRoot).origin}/files/none` },
      double,
    )
    await expect(attachment!.read!(signal)).rejects.toThrow('The app may not read files.')
  })

  it('is read only from Slack, so that nobody else gets the token', async () => {
    const double = await open()
    const seen: IncomingMessage[] = []
    const thief = createServer((request, response) => {
      seen.push(request)
      response.end('x')
    }).listen(0, '127.0.0.1')
    await once(thief, 'listening')
    onTestFinished(() => void thief.close())
    const address = `http://127.0.0.1:${(thief.address() as AddressInfo).port}`
    for (const url of [address, 'http://files.slack.com/x', 'https://slack.com.example/x', 'no address', undefined]) {
      const [attachment] = await receiveFile({ url_private: url }, double)
      await expect(attachment!.read!(signal)).rejects.toThrow('The file is not stored at the platform.')
    }
    expect(seen).toEqual([])
  })

  it('is looked up if another organization has shared it', async () => {
    const double = await open()
    const { next } = await connect(double)
    const content = () => Readable.from([Buffer.from('All is well.')])
    await double.sayWithConnectFile('See.', { name: 'plan.txt', type: 'text/plain', size: 12, content })
    await double.sayWithConnectFile('And this.', undefined)
    const [known, unknown] = await next(2)
    expect(known).toMatchObject({ text: 'See.', attachments: [{ name: 'plan.txt', type: 'text/plain', size: 12 }] })
    expect(await readText(known!.attachments![0]!)).toBe('All is well.')
    expect(unknown).toMatchObject({ text: 'And this.', attachments: [{ name: 'file' }] })
  })

  it('is left out if it is deleted', async () => {
    expect(await receiveFile({ mode: 'tombstone' }, await open())).toEqual([])
  })
})

describe('an app of Slack', () => {
  const page = readFileSync(new URL('../../docs/channels/slack.md', import.meta.url), 'utf8')
  const [, scopes = ''] = /\n +bot:\n((?: +- \S+\n)+)/.exec(page) ?? []
  const granted = [...scopes.matchAll(/- (\S+)/g)].map(([, scope]) => scope!)
  const warnings = ({ context }: { context: ReturnType<typeof createTestContext> }) =>
    context.logged.filter(({ level }) => level === 'warn')

  it('that was made as the page says has each scope once, and nothing is missing', async () => {
    expect(granted).toEqual([...new Set(granted)].toSorted())
    const double = await open()
    double.grant([...granted, 'connections:write'])
    const connected = await connect(double)
    await connected.send({ to: ids.ann })
    const file = { name: 'a.txt', type: 'text/plain', data: Uint8Array.of(65) }
    expect(await connected.send({ key: 'f', text: '', file })).toMatchObject({ outcome: 'sent' })
    expect(warnings(connected)).toEqual([])
  })

  it('that lacks scopes is connected, and the log names them and what to do', async () => {
    const double = await open()
    double.grant([...granted.filter((scope) => !scope.startsWith('files:')), 'connections:write'])
    expect(warnings(await connect(double))).toMatchObject([
      { fields: { scopes: 'files:read, files:write' }, message: expect.stringMatching(/Add them .* install it again/) },
    ])
  })

  it('whose app-level token lacks its scope is refused with its name', async () => {
    const double = await open()
    double.grant(granted)
    await expect(connectChannel(slack, double.config)).rejects.toThrow(
      'Slack refused the app-level token (missing_scope): it needs the scope connections:write.',
    )
  })
})

describe('the connection to Slack', () => {
  const refresh = JSON.stringify({ type: 'disconnect', reason: 'refresh_requested', debug_info: { host: 'x' } })

  it('is replaced without a gap when Slack asks for it', async () => {
    const double = await open()
    const { next, lost } = await connect(double)
    await double.say('one')
    await next(1)
    double.sendRaw(refresh)
    await double.until(() => double.connections().all === 2)
    await double.say('two')
    expect((await next(2)).map(({ text }) => text)).toEqual(['one', 'two'])
    await double.until(() => double.connections().open === 1)
    expect(lost).toEqual([])
  })

  it('is reported as lost if the new one cannot be opened', async () => {
    const double = await open()
    const { lost } = await connect(double)
    double.faultNext('apps.connections.open', { error: 'internal_error' })
    double.sendRaw(refresh)
    await expect.poll(() => lost).not.toEqual([])
    expect(lost).toEqual(['Slack asked for a new connection, which could not be opened.'])
  })

  it('is reported with an AuthError if Slack refuses the token meanwhile', async () => {
    const double = await open()
    const { lost } = await connect(double)
    double.faultNext('apps.connections.open', { error: 'token_revoked' })
    double.sendRaw(refresh)
    await expect.poll(() => lost).not.toEqual([])
    expect(isAuthError(lost[0])).toBe(true)
  })

  it('is reported as lost when it breaks, and the library does not reconnect by itself', async () => {
    const double = await open()
    const { lost, close } = await connect(double)
    await double.disconnect()
    await expect.poll(() => lost).not.toEqual([])
    await close()
    expect(lost).toEqual(['Slack closed the connection.'])
    expect(double.connections()).toEqual({ open: 0, all: 1 })
  })

  it('is replaced once when Slack warns of its end and then asks for another one', async () => {
    const double = await open()
    const { next, lost, close } = await connect(double)
    double.sendRaw(JSON.stringify({ type: 'disconnect', reason: 'warning' }))
    double.sendRaw(refresh)
    await double.until(() => double.connections().all === 2)
    await double.say('two')
    await next(1)
    await double.until(() => double.connections().open === 1)
    expect(double.calls.filter(({ method }) => method === 'apps.connections.open')).toHaveLength(2)
    await close()
    await double.until(() => double.connections().open === 0)
    expect(lost).toEqual([])
  })

  it.each([
    ['refresh_requested', 'Slack asked for another connection at once.'],
    ['link_disabled', 'Socket Mode is switched off for the app. Switch it on under "Socket Mode" in its settings.'],
  ])('is not opened if Slack ends it before its greeting: %s', async (reason, message) => {
    for (const hello of [true, false]) {
      const double = await open()
      double.greetNext({ type: 'disconnect', reason }, { hello })
      const connecting = connectChannel(slack, double.config)
      await expect(connecting).rejects.toThrow(message)
      await expect(connecting).rejects.not.toSatisfy(isAuthError)
      await double.until(() => double.connections().open === 0)
    }
  })

  it('is reported as lost if Socket Mode is switched off', async () => {
    const double = await open()
    const { lost } = await connect(double)
    double.sendRaw(JSON.stringify({ type: 'disconnect', reason: 'link_disabled' }))
    await expect.poll(() => lost).not.toEqual([])
    expect(lost[0]).toMatch('Socket Mode is switched off')
  })

  it('is not replaced by one that outlives the channel', async () => {
    const double = await open()
    const { close, lost } = await connect(double)
    double.greetNext({ type: 'silence' }, { hello: false })
    double.sendRaw(refresh)
    await double.until(() => double.connections().all === 2)
    await close()
    await double.until(() => double.connections().open === 0)
    expect(lost).toEqual([])
  })

  it('closes even if Slack leaves its side open', async () => {
    const double = await open()
    const { close } = await connect(double)
    double.freezeClosing()
    await close()
    await double.until(() => double.connections().open === 0)
    expect(double.connections().open).toBe(0)
  })
})

describe('a gateway with Slack', () => {
  const quiet = { agents: { defaults: { heartbeat: { every: 0 } } } }

  it('sends the reply to a webhook', async () => {
    const double = await open()
    const { post } = await startGateway({ ...quiet, channels: { slack: { ...double.config, defaultTo: ids.room } } })
    await post('/hooks/agent', { message: 'Is the build green?', deliver: true, channel: 'slack', wakeMode: 'now' })
    await double.until(() => double.posts.length > 0)
    expect(double.posts[0]).toMatchObject({ channel: ids.room, text: expect.stringContaining('Is the build green?') })
  })

  it('knows its own reply to a webhook when somebody answers that in a thread', async () => {
    const [double, model] = [await open(), await startObedientModel()]
    const groups = { [ids.room]: {} }
    const account = { ...double.config, defaultTo: ids.room, allowFrom: [ids.ann], groups }
    const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 } } }
    const { post } = await startGateway({ providers: model.providers, agents, channels: { slack: account } })
    model.script({ text: 'The build is green.' }, { text: 'Since noon.' })
    const order = { message: 'How is it?', deliver: true, channel: 'slack', wakeMode: 'next-heartbeat' }
    await post('/hooks/agent', order)
    await double.until(() => double.posts.length > 0 && double.connections().open === 1)
    await double.answer('since when?', 'own')
    await double.until(() => double.posts.length > 1)
    expect(double.posts[1]).toMatchObject({ text: 'Since noon.', thread_ts: double.posts[0]!.ts })
    expect(await model.prompt(1)).toMatch(/answers this one, which you wrote:[^]*The build is green\.[^]*since when\?/)
  })

  it('answers a message where it was written', async () => {
    const double = await open()
    const { logged } = await startGateway({ ...quiet, channels: { slack: { ...double.config, allowFrom: [ids.ann] } } })
    await double.until(() => double.connections().open === 1)
    await double.say('Who is there?', { thread_ts: '1700000000.000001' })
    await double.until(() => double.posts.length > 0)
    expect(double.posts[0]).toMatchObject({ channel: ids.direct, thread_ts: '1700000000.000001' })
    expect(double.posts[0]!.text).toContain('Who is there?')
    expect(logged.join('\n')).not.toMatch(/canary|ticket-/)
  })
})
