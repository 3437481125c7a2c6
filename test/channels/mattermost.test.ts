// The Mattermost channel: the channel contract, and what is special about Mattermost.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import mattermost from '../../channels/mattermost/index.ts'
import { splitIntoChunks } from '../../core/delivery/format/chunks.ts'
import { isAuthError } from '../../core/plugin/errors.ts'
import { channelContract } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { readText } from '../read-text.ts'
import { ids, startMattermost } from '../doubles/mattermost.ts'
import { startGateway } from '../helpers.ts'
import { connectChannel, openDouble } from './connect-channel.ts'
import { uncertain } from './uncertain.ts'

channelContract(mattermost, startMattermost, { without: ['hideId'] })

type Double = Awaited<ReturnType<typeof open>>

const open = () => openDouble(startMattermost())

async function connect(double: Double, settings: Parameters<typeof connectChannel>[2] = {}) {
  const { connection, received, messages, reasons, context } = await connectChannel(mattermost, double.config, settings)
  const send = (message: Partial<Parameters<typeof connection.send>[0]> = {}) =>
    connection.send({ key: 'k', to: ids.room, text: 'hello', ...message })
  return { ...connection, send, next: received, received: messages, lost: reasons, context, logged: context.logged }
}

const postsOf = ({ calls }: Double) => calls.filter((call) => call === 'POST posts').length

describe('sending to Mattermost', () => {
  it('posts in the thread', async () => {
    const double = await open()
    const { send } = await connect(double)
    await send({ text: '**bold**', threadId: ids.ann })
    expect(double.sent).toMatchObject([{ channel_id: ids.room, message: '**bold**', root_id: ids.ann }])
  })

  it('opens the direct messages with a person once', async () => {
    const double = await open()
    const { send } = await connect(double)
    for (const key of ['a', 'b']) await send({ key, to: '@ann' })
    expect(double.sent.map(({ channel_id: channel }) => channel)).toEqual([ids.direct, ids.direct])
    expect(double.calls.filter((call) => call === 'POST channels/direct')).toHaveLength(1)
  })

  it('has sent nothing if there is no such person, or the server cannot tell now', async () => {
    const double = await open()
    const { send } = await connect(double)
    expect(await send({ to: '@nobody' })).toMatchObject({ outcome: 'failed', reason: 'permanent' })
    double.faultNext('POST channels/direct', 'lose')
    expect(await send({ to: '@ann' })).toMatchObject({ outcome: 'failed', reason: 'transient' })
  })

  it.each([
    ['rate limit, as plain text', { status: 429, headers: { 'retry-after': '7' }, body: 'limit exceeded' }, 'rate'],
    ['refused token', { status: 401 }, 'auth'],
    ['channel without permission', { status: 403 }, 'permanent'],
    ['text that is too long', { status: 400 }, 'permanent'],
    ['server that restarts', { status: 503 }, 'transient'],
  ])('fails after a %s, in one attempt', async (_what, fault, reason) => {
    const double = await open()
    const { send } = await connect(double)
    double.faultNext('POST posts', fault)
    expect(await send()).toMatchObject({ outcome: 'failed', reason, ...(reason === 'rate' && { retryAfterMs: 7000 }) })
    expect(postsOf(double)).toBe(1)
  })

  it.each([
    ['lost answer', 'lose' as const],
    ['lost request', 'drop' as const],
    ['server error', { status: 500, body: '<html>canary text</html>' }],
    ['redirect', { status: 301, headers: { location: '/chat/elsewhere' } }],
  ])('has an unknown result after a %s', async (_what, fault) => {
    const double = await open()
    const { send } = await connect(double)
    double.faultNext('POST posts', fault)
    const result = await send()
    expect(result.outcome).toBe('unknown')
    expect(JSON.stringify(result)).not.toContain('canary')
    expect(postsOf(double)).toBe(1)
  })

  it('has an unknown result while the server still works on the same message', async () => {
    const double = await open()
    const { send } = await connect(double)
    double.pending.set(`${ids.bot}:k`, undefined)
    expect(await send()).toEqual({
      outcome: 'unknown',
      detail: 'Mattermost answered 500 (api.post.deduplicate_create_post.pending).',
    })
  })

  it('posts once within 30 seconds, because the server knows the key', async () => {
    const double = await open()
    const { send } = await connect(double)
    double.loseNextAnswer()
    expect((await send()).outcome).toBe('unknown')
    expect(await send()).toEqual({ outcome: 'sent', id: double.sent[0]!.id })
    expect(double.sent).toHaveLength(1)
  })

  it('uploads a file and posts it with its caption', async () => {
    const double = await open()
    const { send } = await connect(double)
    const file = { name: 'report ä.txt', type: 'text/plain', data: new TextEncoder().encode('All is well.') }
    expect(await send({ text: 'The report.', file })).toMatchObject({ outcome: 'sent' })
    const [post] = double.sent
    const stored = double.files.get(post!.file_ids[0]!)
    expect(stored).toMatchObject({ name: 'report ä.txt', mime_type: 'text/plain' })
    expect(stored!.data.toString()).toBe('All is well.')
    expect(post!.message).toBe('The report.')
    double.faultNext('POST files', { status: 500 })
    expect(await send({ file })).toMatchObject({ outcome: 'failed', reason: 'transient' })
  })

  it('shows that the agent is typing', async () => {
    const double = await open()
    const { typing } = await connect(double)
    await typing!(ids.direct, true)
    await typing!(ids.direct, false)
    await double.until(() => double.typing.length > 0)
    expect(double.typing).toMatchObject([{ channel_id: ids.direct }])
  })
})

it('sends no picture beside a link to a post, for which the server would fetch pictures', async () => {
  const double = await openDouble(startMattermost())
  const { connection } = await connectChannel(mattermost, double.config)
  const text = `See ${double.config.baseUrl}/team/pl/${ids.room} and ![x](https://evil.example/?q=1)`
  const [chunk] = await splitIntoChunks(text, mattermost.limits)
  await connection.send({ key: 'k', to: ids.room, text })
  await connection.send({ key: 'l', to: ids.room, text: chunk!.text })
  // What agents write comes through `splitIntoChunks`.
  expect((await double.messages()).map(({ fetches }) => fetches)).toEqual([['https://evil.example/?q=1'], []])
})

describe('asking Mattermost for a message', () => {
  it('finds it after the server has forgotten its key, also in a thread and on an older page', async () => {
    const double = await open()
    const { send, reconcile } = await connect(double)
    double.loseNextAnswer()
    await send({ threadId: ids.ann })
    double.pending.clear()
    for (let index = 0; index < 300; index++) await double.say('noise', { channel_id: ids.room })
    expect(await reconcile!(uncertain('k', ids.room))).toBe('sent')
    expect(await reconcile!(uncertain('other', ids.room))).toBe('absent')
  })

  it('takes no post of somebody else for it', async () => {
    const double = await open()
    const { reconcile } = await connect(double)
    await double.say('fake', { channel_id: ids.room, props: { svc_gateway_key: 'k' } })
    expect(await reconcile!(uncertain('k', ids.room))).toBe('absent')
  })

  it('stops at posts that are older than the first attempt, and gives up in a channel that is too busy', async () => {
    const double = await open()
    const { reconcile } = await connect(double)
    const old = { channel_id: ids.room, create_at: Date.now() - 60 * 60_000 }
    for (let index = 0; index < 400; index++) await double.say('old', old)
    expect(await reconcile!(uncertain('k', ids.room))).toBe('absent')
    expect(double.calls.filter((call) => call === 'GET channels/:id/posts')).toHaveLength(1)
    for (let index = 0; index < 5000; index++) await double.say('noise', { channel_id: ids.room })
    expect(await reconcile!(uncertain('k', ids.room))).toBe('unknown')
  })

  it('returns unknown if the account may not read there, and rejects if the server cannot answer now', async () => {
    const double = await open()
    const { reconcile } = await connect(double)
    double.faultNext('GET channels/:id/posts', { status: 403 })
    expect(await reconcile!(uncertain('k', ids.room))).toBe('unknown')
    for (const fault of ['drop' as const, { status: 429 }, { status: 500 }, { status: 401 }]) {
      double.faultNext('GET channels/:id/posts', fault)
      await expect(reconcile!(uncertain('k', ids.room))).rejects.toThrow(/./)
    }
  })
})

describe('connecting to Mattermost', () => {
  it('rejects with an AuthError only if the token is refused', async () => {
    const double = await open()
    const failure = async (config: Double['config']): Promise<unknown> =>
      await mattermost
        .connect(config, { ...createTestContext(), accountId: 'default', receive: vi.fn(), lost: vi.fn() })
        .catch((error: unknown) => error)
    expect(isAuthError(await failure(double.badConfig))).toBe(true)
    for (const fault of ['drop' as const, { status: 500 }, { status: 200, body: '<html>' }]) {
      double.faultNext('GET users/me', fault)
      const error = await failure(double.config)
      expect(error).toBeInstanceOf(Error)
      expect(isAuthError(error)).toBe(false)
    }
    expect(await failure({ ...double.config, baseUrl: 'http://127.0.0.1:1' })).toBeInstanceOf(Error)
  })

  it('rejects with a hint at the proxy if the server accepts no WebSocket, or refuses the token there', async () => {
    const double = await open()
    const context = createTestContext()
    const failure = async (): Promise<unknown> =>
      await mattermost
        .connect(double.config, { ...context, accountId: 'default', receive: vi.fn(), lost: vi.fn() })
        .catch((error: unknown) => error)
    double.refuseToken()
    const refused = await failure()
    expect(refused).toMatchObject({ message: expect.stringMatching(/closed the connection.*must pass on WebSockets/) })
    expect(isAuthError(refused)).toBe(false)
    double.refuseUpgrade()
    expect(await failure()).toMatchObject({ cause: { message: 'Unexpected server response: 404' } })
  })
})

describe('a bot of Mattermost', () => {
  it('that is in no team is connected, and the log says what to do', async () => {
    const double = await openDouble(startMattermost())
    double.teams.length = 0
    const { context } = await connectChannel(mattermost, double.config)
    expect(context.logged.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      expect.stringMatching(/in no team.* add it to a team/),
    ])
  })
})

describe('a connection to Mattermost', () => {
  it('that does not answer a ping is lost, and one that answers is not', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const double = await open()
    const { next, lost } = await connect(double)
    const pinged = double.pinged()
    vi.advanceTimersByTime(30_000)
    await pinged
    // The answer to the ping arrives before this message.
    await double.say('hello')
    await next(1)
    vi.advanceTimersByTime(30_000)
    expect(lost).toEqual([])
    double.freeze()
    vi.advanceTimersByTime(60_000)
    expect(lost).toEqual(['Mattermost does not answer any more.'])
  })

  it('that the server closes when it restarts is lost once, and the next one gets what was missed', async () => {
    const double = await open()
    const first = await connect(double)
    await double.disconnect()
    await expect.poll(() => first.lost).not.toEqual([])
    await double.say('while it restarted')
    await first.close()
    expect(first.lost).toEqual(['Mattermost closed the connection.'])
    const second = await connect(double, { context: first.context })
    await double.say('afterwards')
    expect((await second.next(2)).map(({ text }) => text)).toEqual(['while it restarted', 'afterwards'])
  })

  it('is closed by the gateway without being reported as lost', async () => {
    const double = await open()
    const { close, lost } = await connect(double)
    await close()
    await double.until(() => double.connections() === 0)
    expect(lost).toEqual([])
  })
})

describe('a message from Mattermost', () => {
  it('moves the cursor when it is stored, not before', async () => {
    const double = await open()
    const [called, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { context, next } = await connect(double, {
      beforeReceive: async () => {
        called.resolve()
        await stored.promise
      },
    })
    await double.say('hello')
    await called.promise
    const before = await context.state.get('cursor')
    stored.resolve()
    await next(1)
    await expect.poll(() => context.state.get('cursor')).toBe(double.posts[0]!.create_at)
    expect(before).toBeLessThan(double.posts[0]!.create_at)
  })

  it('that is not stored when the connection ends comes again on the next, before those after it', async () => {
    const double = await open()
    const [called, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
    const first = await connect(double, { beforeReceive: () => (called.resolve(), ended.promise) })
    await double.say('one')
    await double.say('two')
    await called.promise
    ended.reject(new Error('the connection has ended'))
    await first.close()
    const second = await connect(double, { context: first.context })
    expect((await second.next(2)).map(({ text }) => text)).toEqual(['one', 'two'])
  })

  it('that was written while the gateway was not running is received, in order, and without old ones', async () => {
    const double = await open()
    await double.say('before the first start', { create_at: Date.now() - 60_000 })
    const first = await connect(double)
    await double.say('one')
    await first.next(1)
    await expect.poll(() => first.context.state.get('cursor')).toBe(double.posts[1]!.create_at)
    await first.close()
    await double.say('two', { channel_id: ids.room })
    await double.say('three')
    await double.say('edited meanwhile', { create_at: Date.now() - 60_000 })
    const second = await connect(double, { context: first.context })
    await double.say('four')
    const messages = await second.next(4)
    // What was handled just before the end may come again; the gateway knows its id.
    expect(messages.map(({ text }) => text)).toEqual(['one', 'two', 'three', 'four'])
    expect(messages[0]!.id).toBe(first.received[0]!.id)
    expect(messages[1]!.group).toBe('channel')
  })

  it('reports the loss of a connection that has missed an event, and gets it on the next', async () => {
    const double = await open()
    const first = await connect(double)
    double.skipEvent()
    await double.say('after the gap')
    await expect.poll(() => first.lost).not.toEqual([])
    await first.close()
    expect(first.lost).toEqual(['An event of Mattermost was lost.'])
    const second = await connect(double, { context: first.context })
    expect((await second.next(1))[0]!.text).toBe('after the gap')
    await double.say('and later')
    expect((await second.next(2))[1]!.text).toBe('and later')
  })

  it.each([
    ['@agent.smith hello', 'hello', true],
    ['hello @Agent.Smith', 'hello', true],
    ['@agent.smith: hello', ': hello', true],
    ['ask @agent.smith.', 'ask .', true],
    ['@agent.smith2 hello', '@agent.smith2 hello', false],
    ['@agent.smith.jr hello', '@agent.smith.jr hello', false],
    ['mail x@agent.smith', 'mail x@agent.smith', false],
  ])('in a channel mentions the account or not: %s', async (message, text, mentioned) => {
    const double = await open()
    const { next } = await connect(double)
    await double.say(message, { channel_id: ids.room })
    expect((await next(1))[0]).toMatchObject({ text, mentioned, group: 'channel', to: ids.room })
  })

  it('in a thread mentions the account if the account has begun the thread', async () => {
    const double = await open()
    const { next, send } = await connect(double)
    await send()
    const root = double.sent[0]!.id
    await double.say('yes', { channel_id: ids.room, root_id: root })
    await double.say('again', { channel_id: ids.group, root_id: root })
    expect((await next(2)).map(({ mentioned, threadId, group }) => [mentioned, threadId, group])).toEqual([
      [true, root, 'channel'],
      [true, root, 'group'],
    ])
    expect(double.calls.filter((call) => call === 'GET posts/:id')).toHaveLength(1)
  })

  it('quotes the first post of its thread, asked for once, and whole only the first time', async () => {
    const double = await open()
    const { next } = await connect(double)
    const text = 'The plan is ready. '.repeat(50).trim()
    await double.say(text, { channel_id: ids.room, user_id: ids.bob })
    const thread = { channel_id: ids.room, root_id: double.posts[0]!.id }
    for (const word of ['summarize', 'translate']) await double.say(`@agent.smith ${word}`, thread)
    const [, first, second] = await next(3)
    const quoted = { id: thread.root_id, isOwn: false, from: { id: ids.bob, name: 'bob' } }
    expect(first!.quoted).toEqual({ ...quoted, text, attachments: [] })
    expect(second!.quoted).toEqual({ ...quoted, text: `${text.slice(0, 200).trim()} …` })
    expect(double.calls.filter((call) => call === 'GET posts/:id')).toHaveLength(1)
  })

  it('quotes a report of an integration by its card, and only an id if the server gives no post', async () => {
    const double = await open()
    const { next } = await connect(double)
    const cards = [{ pretext: 'Alert', title: 'Disk full', text: 'on db-1', fallback: 'unused' }, { fallback: 'two' }]
    const props = { from_webhook: 'true', override_username: 'Alerts', attachments: cards }
    await double.say('', { channel_id: ids.room, user_id: ids.bob, props })
    await double.say('why?', { channel_id: ids.room, root_id: double.posts[0]!.id })
    await double.say('and this?', { channel_id: ids.room, root_id: ids.ann })
    const [first, second] = await next(2)
    const from = { id: ids.bob, name: 'Alerts' }
    expect(first!.quoted).toMatchObject({ from, isOwn: false, text: 'Alert\nDisk full\non db-1\n\ntwo' })
    expect(second!.quoted).toEqual({ id: ids.ann })
  })

  it('has a post that it shares as quoted if somebody says something about it, with its files', async () => {
    const double = await open()
    const { next } = await connect(double)
    const file = double.keepFile({ name: 'plan.txt', type: 'text/plain', data: Buffer.from('The plan.') })
    const shared = { message: 'one', user_id: ids.bob, file_ids: [file.id], metadata: { files: [file] } }
    await double.share('summarize this', shared)
    await double.share('', shared)
    await double.say('a link', { metadata: { embeds: [{ type: 'link' }, null, { type: 'permalink', data: {} }] } })
    const [comment, forward, link] = await next(3)
    const from = { id: ids.bob, name: 'bob' }
    expect(comment).toMatchObject({ text: 'summarize this', quoted: { from, isOwn: false, text: 'one' } })
    expect(await readText(comment!.quoted!.attachments![0]!)).toBe('The plan.')
    expect(forward).toMatchObject({ text: 'one', attachments: [{ name: 'plan.txt' }], forwardedFrom: { name: 'bob' } })
    expect(link).toMatchObject({ text: 'a link' })
    expect(link).not.toHaveProperty('quoted')
  })

  it('has the name of its sender, and is no group in direct messages', async () => {
    const double = await open()
    const { next } = await connect(double)
    await double.say('hello')
    expect((await next(1))[0]).toEqual({
      id: double.posts[0]!.id,
      from: { id: ids.ann, name: 'Ann Lee' },
      to: ids.direct,
      text: 'hello',
      attachments: [],
    })
  })

  it.each([
    { user_id: ids.bot },
    { user_id: ids.robot },
    { type: 'system_join_channel' },
    { props: { from_webhook: 'true' } },
    { props: { from_bot: 'true' } },
    { delete_at: 5 },
    { channel_id: '../users/me' },
    { user_id: 'x' },
    { create_at: NaN },
  ])('is ignored if it is none of a person: %j', async (post) => {
    const double = await open()
    const { next, lost } = await connect(double)
    await double.say('not this', post)
    await double.say('this')
    expect((await next(1)).map(({ text }) => text)).toEqual(['this'])
    expect(lost).toEqual([])
  })

  it('cannot end the process, whatever its shape', async () => {
    const double = await open()
    const { next, lost } = await connect(double)
    for (const text of ['', 'no JSON', 'null']) double.sendRaw(text)
    for (const data of [null, {}, { post: 7 }, { post: 'no JSON' }, { post: 'null' }]) double.event('posted', data)
    await double.say('hello', { props: null as never, root_id: 7 as never, file_ids: 'x' as never })
    expect((await next(1))[0]).toMatchObject({ text: 'hello', attachments: [] })
    expect(lost).toEqual([])
  })

  it('has its files, described by the event or by the server', async () => {
    const double = await open()
    const { next } = await connect(double)
    const info = double.keepFile({ name: 'a.png', type: 'image/png', data: Buffer.from('png') })
    await double.say('', { file_ids: [info.id], metadata: { files: [info] } })
    await double.say('', { file_ids: [info.id] })
    for (const { attachments } of await next(2)) {
      expect(attachments).toMatchObject([{ name: 'a.png', type: 'image/png', size: 3 }])
      expect(await readText(attachments![0]!)).toBe('png')
    }
  })

  it('comes again if the server cannot tell who wrote it, and without a name if it does not tell', async () => {
    const double = await open()
    const first = await connect(double)
    double.faultNext('GET users/:id', { status: 500 })
    await double.say('hello')
    await expect.poll(() => first.lost).not.toEqual([])
    await first.close()
    double.faultNext('GET users/:id', { status: 403 })
    const second = await connect(double, { context: first.context })
    expect((await second.next(1))[0]!.from).toEqual({ id: ids.ann })
  })
})

describe('a gateway with Mattermost', () => {
  const quiet = { agents: { defaults: { heartbeat: { every: 0 } } } }

  it('sends the reply to a webhook', async () => {
    const double = await open()
    const settings = { ...double.config, defaultTo: '@ann' }
    const { post } = await startGateway({ ...quiet, channels: { mattermost: settings } })
    await post('/hooks/agent', {
      message: 'Is the build green?',
      deliver: true,
      channel: 'mattermost',
      wakeMode: 'now',
    })
    await double.until(() => double.sent.length > 0)
    expect(double.sent[0]).toMatchObject({ channel_id: ids.direct })
    expect(double.sent[0]!.message).toContain('Is the build green?')
  })

  it('answers a message where it was written', async () => {
    const double = await open()
    const settings = { ...double.config, allowFrom: [ids.ann] }
    const { logged } = await startGateway({ ...quiet, channels: { mattermost: settings } })
    await double.until(() => double.connections() === 1)
    await double.say('Who is there?')
    await double.until(() => double.sent.length > 0)
    expect(double.sent[0]).toMatchObject({ channel_id: ids.direct })
    expect(double.sent[0]!.message).toContain('Who is there?')
    expect(logged.join('\n')).not.toContain('canary')
  })
})
