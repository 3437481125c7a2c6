// The Discord channel with Discord's own libraries, against a double of Discord.
import { describe, expect, it } from 'vitest'
import discord from '../../channels/discord/index.ts'
import { isAuthError } from '../../core/plugin/errors.ts'
import { channelContract } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { readText } from '../read-text.ts'
import {
  annId,
  botId,
  channelId,
  directId,
  type Discord,
  openDiscord,
  otherRoleId,
  roleId,
  threadId,
} from '../doubles/discord.ts'
import { startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'
import { connectChannel, openDouble } from './connect-channel.ts'

// A person has one id.
channelContract(discord, openDiscord, { without: ['hideId'] })

/** The test fails if the double got what Discord does not know. */
const open = (options?: Parameters<typeof openDiscord>[0]) => openDouble(openDiscord(options))

async function connect(double: Discord, settings?: Parameters<typeof connectChannel>[2]) {
  const { connection, ...connected } = await connectChannel(discord, double.config, settings)
  return { ...connection, ...connected }
}

async function start() {
  const double = await open()
  const connection = await connect(double)
  return {
    double,
    ...connection,
    /** Closes the connection, and opens another with the same state afterwards. */
    async reconnect(meanwhile: () => Promise<void>) {
      await connection.close()
      await meanwhile()
      return await connect(double, { context: connection.context })
    },
  }
}

const rejectionOf = (promise: Promise<unknown>) => promise.then(() => undefined).catch((error: unknown) => error)

const textsOf = (messages: readonly { text: string }[]) => messages.map(({ text }) => text)

describe('a button', () => {
  const choices = [{ label: 'Yes', text: 'yes, please' }]

  it('is pressed by a member of a server in a thread, and confirmed when that is stored', async () => {
    const { double, send, received } = await start()
    await send({ key: 'k', to: channelId, threadId, text: 'May I?', choices })
    await double.press('Yes', { channel_id: threadId })
    const [message] = await received(1)
    expect(message).toEqual({
      id: expect.stringMatching(/^\d+$/),
      from: { id: annId, name: 'Ann' },
      to: channelId,
      threadId,
      route: threadId,
      group: 'channel',
      mentioned: true,
      text: 'yes, please',
      attachments: [],
    })
    await double.until(() => double.confirmed.length === 1)
    // 6: nothing changes in the message.
    expect(double.confirmed).toEqual([{ id: message!.id, type: 6 }])
  })

  it('is ignored if Discord says something else, and never makes a path of it', async () => {
    const { double, send, received } = await start()
    await send({ key: 'k', to: directId, text: 'May I?', choices })
    const broken = [
      { type: 2 },
      { id: '../1' },
      { token: '../../users/@me' },
      { token: '' },
      { data: { component_type: 2 } },
      { data: null },
      { user: undefined },
      { channel_id: 'x' },
    ]
    for (const fields of broken) await double.press('Yes', fields)
    await double.say('and on')
    expect(textsOf(await received(1))).toEqual(['and on'])
  })

  it('is received if it cannot be confirmed any more', async () => {
    const { double, send, received } = await start()
    await send({ key: 'k', to: directId, text: 'May I?', choices })
    double.confirmed.push({ id: '100000000000000009', type: 6 })
    await double.press('Yes', { id: '100000000000000009' })
    await double.say('and on')
    expect(textsOf(await received(2))).toEqual(['yes, please', 'and on'])
  })
})

describe('sending', () => {
  it.each([502, 500, 504])('does not repeat a message after %i by itself', async (status) => {
    const { double, send } = await start()
    double.failNext({ status })
    expect(await send({ key: 'k', to: directId, text: 'hello' })).toMatchObject({ outcome: 'unknown' })
    expect(double.requests.filter((name) => name.startsWith('POST'))).toHaveLength(1)
  })

  it.each(['drop-after', 'drop-before'] as const)('sends once if the connection breaks (%s)', async (fault) => {
    const { double, send } = await start()
    double.failNext(fault)
    const message = { key: 'a delivery:with a key that is longer than a nonce:0', to: directId, text: 'hello' }
    expect(await send(message)).toMatchObject({ outcome: 'unknown' })
    expect(await send(message)).toMatchObject({ outcome: 'sent' })
    expect(textsOf(double.sent)).toEqual(['hello'])
  })

  it('gives different messages different nonces', async () => {
    const { double, send } = await start()
    for (const key of ['delivery:0', 'delivery:1']) await send({ key, to: directId, text: 'hello' })
    expect(double.sent).toHaveLength(2)
  })

  it('reports an exhausted rate limit without asking Discord', async () => {
    const { double, send } = await start()
    await send({ key: 'a', to: directId, text: 'hello' })
    double.failNext({ status: 400, headers: exhausted })
    await send({ key: 'b', to: directId, text: 'hello' })
    const result = await send({ key: 'c', to: directId, text: 'hello' })
    expect(result).toMatchObject({ outcome: 'failed', reason: 'rate', retryAfterMs: expect.any(Number) })
    expect(double.requests.filter((name) => name.startsWith('POST'))).toHaveLength(2)
  })

  const exhausted = {
    'x-ratelimit-limit': '5',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset-after': '60',
    'x-ratelimit-bucket': 'abcd',
  }

  it.each([
    [{ status: 403, code: 50_013 }, 'permanent', 'It needs the permission "Send Messages"'],
    [{ status: 403, code: 50_007 }, 'permanent', 'accepts no direct messages'],
    [{ status: 404, code: 10_003 }, 'permanent', 'There is no channel with this id'],
    [{ status: 400, code: 50_035 }, 'permanent', 'Discord answered 400, code 50035.'],
    [{ status: 503 }, 'transient', 'Discord answered 503'],
    [{ status: 403, body: [] }, 'permanent', 'Discord answered 403.'],
  ])('reports %j', async (fault, reason, detail) => {
    const { double, send } = await start()
    double.failNext(fault)
    const result = await send({ key: 'k', to: directId, text: 'canary' })
    expect(result).toMatchObject({ outcome: 'failed', reason, detail: expect.stringContaining(detail) })
    expect(JSON.stringify(result)).not.toContain('canary')
  })

  it('opens a direct message for user:<id>', async () => {
    const { double, send } = await start()
    expect(await send({ key: 'k', to: `user:${annId}`, text: 'hello' })).toMatchObject({ outcome: 'sent' })
    expect(double.sent).toMatchObject([{ to: directId, text: 'hello', hasPreviews: false }])
    await send({ key: 'l', to: `user:${annId}`, text: 'again' })
    expect(double.requests.filter((name) => name === 'POST /users/@me/channels')).toHaveLength(1)
    const result = await send({ key: 'm', to: 'user:200000000000000009', text: 'hello' })
    expect(result).toMatchObject({ outcome: 'failed', reason: 'permanent' })
  })

  it('sends to a thread, and refuses what is not the id of one', async () => {
    const { double, send } = await start()
    expect(await send({ key: 'k', to: channelId, threadId, text: 'hello' })).toMatchObject({ outcome: 'sent' })
    expect(double.sent).toMatchObject([{ to: threadId }])
    for (const wrong of ['../users/@me', '1.5', ''])
      expect(await send({ key: wrong, to: channelId, threadId: wrong, text: 'hello' })).toMatchObject({
        reason: 'permanent',
      })
  })

  it('sends files, with and without a caption', async () => {
    const { double, send } = await start()
    const file = { name: 'räport.txt', type: 'text/plain', data: new TextEncoder().encode('All is well.') }
    for (const text of ['The report.', ''])
      expect(await send({ key: `k:${text}`, to: directId, text, file })).toMatchObject({ outcome: 'sent' })
    const files = [{ name: 'räport.txt', type: expect.stringContaining('text/plain'), text: 'All is well.' }]
    expect(double.sent).toMatchObject([
      { text: 'The report.', files },
      { text: '', files },
    ])
  })

  it('shows that the agent is typing, in the thread of the message', async () => {
    const { double, typing } = await start()
    await typing?.(channelId, true, threadId)
    await typing?.(channelId, false, threadId)
    await typing?.(directId, true)
    expect(double.requests.filter((name) => name.endsWith('/typing'))).toEqual([
      `POST /channels/${threadId}/typing`,
      `POST /channels/${directId}/typing`,
    ])
  })
})

describe('credentials', () => {
  it('are refused for good when the token is no longer valid', async () => {
    const { double, send, lost } = await start()
    double.failNext({ status: 401 })
    expect(await send({ key: 'k', to: directId, text: 'hello' })).toMatchObject({ outcome: 'failed', reason: 'auth' })
    expect(isAuthError(await lost)).toBe(true)
  })

  it.each([
    [4004, 'refuses the token'],
    [4011, 'more servers'],
    [4013, 'does not accept'],
    [4014, '"Message Content Intent"'],
  ])('are refused when the gateway closes with %i', async (code, sentence) => {
    const double = await open()
    double.gateway.refuse.push(code)
    const error = await rejectionOf(connect(double))
    expect(isAuthError(error)).toBe(true)
    expect(String(error)).toContain(sentence)
    expect(double.gateway.identified).toBe(1)
  })

  it('are not sent to the gateway of a server that is not Discord', async () => {
    const double = await open()
    delete double.user['id']
    expect(String(await rejectionOf(connect(double)))).toContain('is not Discord; check apiRoot')
    expect(double.gateway.identified).toBe(0)
  })

  it('that are refused later end the connection', async () => {
    const { double, lost } = await start()
    double.gateway.refuse.push(4004)
    await double.disconnect()
    expect(isAuthError(await lost)).toBe(true)
  })
})

describe('receiving', () => {
  it('names the sender as people see them', async () => {
    const { double, received } = await start()
    const author = { id: annId, username: 'ann' }
    await double.say('one')
    await double.say('two', { author, channel_id: channelId, member: { nick: 'Annie' } })
    await double.say('three', { author })
    expect((await received(3)).map(({ from }) => from)).toEqual([
      { id: annId, name: 'Ann' },
      { id: annId, name: 'Annie' },
      { id: annId, name: 'ann' },
    ])
  })

  it.each([
    ['a mention', { content: `<@${botId}> hi`, mentions: [{ id: botId }] }, true],
    ['a mention by nickname', { content: `hi <@!${botId}>`, mentions: [{ id: botId }] }, true],
    ['an answer to the bot', { content: 'hi', type: 19, referenced_message: { author: { id: botId } } }, true],
    ['an answer to somebody', { content: 'hi', type: 19, referenced_message: { author: { id: annId } } }, false],
    ['a mention of its role', { content: `<@&${roleId}> hi`, mention_roles: [roleId] }, true],
    ['a mention of two roles', { content: `<@&${roleId}> hi`, mention_roles: [otherRoleId, roleId] }, true],
    ['a mention of the role of another bot', { content: 'hi', mention_roles: [otherRoleId] }, false],
    ['a mention of somebody', { content: 'hi', mentions: [{ id: annId }] }, false],
    ['a mention of everyone', { content: 'hi', mention_everyone: true }, false],
  ])('tells whether %s mentions the bot', async (_what, fields, mentioned) => {
    const { double, received } = await start()
    await double.say('', { ...fields, channel_id: channelId })
    expect(await received(1)).toMatchObject([{ text: 'hi', group: 'channel', to: channelId, mentioned }])
  })

  const reference = { message_reference: { type: 0, message_id: '300000000000000001', channel_id: channelId } }
  const answered = {
    id: '300000000000000001',
    author: { id: '200000000000000002', username: 'bob' },
    content: 'The plan is ready.',
    attachments: [{ filename: 'plan.txt', size: 5, url: 'https://cdn.discordapp.com/plan.txt' }],
  }
  const files = [{ name: 'plan.txt', type: 'application/octet-stream', size: 5, read: expect.any(Function) }]
  const passedOn = { message_snapshots: [{ message: answered }], message_reference: { type: 1 } }
  const ofBob = { id: answered.id, isOwn: false, from: { id: '200000000000000002', name: 'bob' } }

  it.each([
    [
      'what it answers',
      { content: 'hi', referenced_message: answered },
      { quoted: { ...ofBob, text: answered.content } },
    ],
    [
      'an answer to what was passed on, whose author is not known',
      { content: 'hi', referenced_message: { ...answered, content: '', attachments: [], ...passedOn } },
      { quoted: { id: answered.id, isOwn: false, text: answered.content, attachments: files } },
    ],
    ['only the id of what Discord has not looked for', { content: 'hi' }, { quoted: { id: answered.id } }],
    ['nothing of what was deleted', { content: 'hi', referenced_message: null }, { text: 'hi' }],
    [
      'what is passed on',
      { type: 0, content: '', ...passedOn },
      { text: answered.content, attachments: files, forwardedFrom: {} },
    ],
    [
      'what is passed on with a comment',
      { type: 0, content: 'hi', ...passedOn },
      { quoted: { isOwn: false, text: answered.content, attachments: files } },
    ],
    [
      'no text of a snapshot without one',
      { type: 0, content: '', message_snapshots: [null] },
      { text: '', forwardedFrom: {} },
    ],
  ])('reads %s', async (_what, fields, expected) => {
    const { double, received } = await start()
    await double.say('', { type: 19, ...reference, ...fields })
    const [message] = await received(1)
    expect(message).toMatchObject({ text: 'hi', ...expected })
    for (const key of ['quoted', 'forwardedFrom']) if (!(key in expected)) expect(message).not.toHaveProperty(key)
  })

  it('replies to a thread in the thread', async () => {
    const { double, received } = await start()
    await double.say('hello', { channel_id: threadId })
    expect(await received(1)).toMatchObject([{ to: channelId, threadId, route: threadId, group: 'channel' }])
  })

  it('asks once where a channel belongs', async () => {
    const { double, received } = await start()
    for (const text of ['one', 'two']) await double.say(text, { channel_id: threadId })
    await received(2)
    expect(double.requests.filter((name) => name === `GET /channels/${threadId}`)).toHaveLength(1)
  })

  it('takes a channel that it cannot see for a group', async () => {
    const { double, received } = await start()
    double.failRequest(`GET /channels/${directId}`, 403)
    await double.say('hello')
    expect(await received(1)).toMatchObject([{ to: directId, group: 'channel', mentioned: false }])
  })

  it('tries again when Discord fails', async () => {
    const { double, received } = await start()
    double.failRequest(`GET /channels/${directId}`, 502)
    for (const text of ['one', 'two']) await double.say(text)
    expect(textsOf(await received(2))).toEqual(['one', 'two'])
  })

  it('ignores bots, webhooks, notices and what is not a message', async () => {
    const { double, received, messages } = await start()
    await double.echo('own')
    await double.say('of a bot', { author: { id: '200000000000000002', bot: true } })
    await double.say('of a webhook', { webhook_id: '200000000000000003' })
    await double.say('a notice', { type: 7 })
    const wrong = [
      null,
      7,
      [],
      {},
      { id: 'x' },
      { id: '1', author: null },
      { id: '../..', channel_id: '..', author: {} },
    ]
    for (const data of wrong) double.gateway.dispatch('MESSAGE_CREATE', data)
    double.gateway.sendRaw('not json')
    await double.say('a message', { mentions: 'x', attachments: [null, { filename: 1 }], member: 3 })
    expect(textsOf(await received(1))).toEqual(['a message'])
    expect(messages).toHaveLength(1)
  })

  it('offers attachments, and downloads them without the token', async () => {
    const { double, received } = await start()
    const attachment = double.serve({
      filename: 'notes.txt',
      content_type: 'text/plain',
      data: 'Some notes.',
      size: 11,
    })
    await double.say('', { attachments: [attachment] })
    const [file] = (await received(1))[0]!.attachments!
    expect(file).toMatchObject({ name: 'notes.txt', type: 'text/plain', size: 11 })
    expect(await readText(file!)).toBe('Some notes.')
  })

  it.each(['http://127.0.0.1:1/secret', 'https://cdn.discordapp.com.evil.example/a', 'file:///etc/passwd', 'nonsense'])(
    'does not download from %s',
    async (url) => {
      const { double, received } = await start()
      await double.say('', { attachments: [{ filename: 'a', size: 3, url }] })
      const [file] = (await received(1))[0]!.attachments!
      expect(file).toEqual({ name: 'a', type: 'application/octet-stream', size: 3 })
    },
  )
})

describe('a lost connection', () => {
  it('is resumed when Discord asks for it', async () => {
    const { double, received } = await start()
    double.gateway.askToReconnect()
    await double.gateway.reached('resumed', 1)
    await double.say('hello')
    expect(textsOf(await received(1))).toEqual(['hello'])
    expect(double.gateway.identified).toBe(1)
  })

  it('that cannot be resumed loses nothing: what was missed is fetched, in order and once', async () => {
    const { double, received, reconnect } = await start()
    await double.say('zero')
    await double.say('in a thread', { channel_id: threadId })
    await received(2)
    const messages = await reconnect(async () => {
      double.gateway.forgetSessions()
      for (let index = 1; index <= 150; index++) await double.say(`${index}`)
      await double.say('also in a thread', { channel_id: threadId })
    })
    await double.say('afterwards')
    const all = await messages.received(152)
    const numbers = Array.from({ length: 150 }, (_, index) => `${index + 1}`)
    expect(textsOf(all.filter(({ to }) => to === directId))).toEqual([...numbers, 'afterwards'])
    expect(all.filter(({ to }) => to !== directId)).toMatchObject([
      { text: 'also in a thread', to: channelId, threadId, route: threadId, group: 'channel' },
    ])
    expect(double.gateway).toMatchObject({ identified: 2, resumed: 1 })
  })

  it('fetches answers to a message that the agent sent first', async () => {
    const { double, send, reconnect } = await start()
    await send({ key: 'k', to: channelId, text: 'How are you?' })
    const { received } = await reconnect(async () => {
      double.gateway.forgetSessions()
      await double.sayInGroup('Fine.', { mentioned: true })
    })
    expect(await received(1)).toMatchObject([{ text: 'Fine.', to: channelId, mentioned: true }])
  })

  it('forgets conversations that the bot may not read any more, and old messages', async () => {
    const { double, received, reconnect } = await start()
    await double.say('zero', { channel_id: channelId })
    await double.say('one', { id: '100000000000000009' })
    await received(2)
    const messages = await reconnect(async () => {
      double.gateway.forgetSessions()
      double.failRequest(`GET /channels/${channelId}/messages`, 403)
      await double.say('of last year', { id: '100000000000000010' })
      await double.say('two')
    })
    await double.say('three')
    expect(textsOf(await messages.received(2))).toEqual(['two', 'three'])
    const asked = double.requests.filter((name) => name === `GET /channels/${channelId}/messages`)
    await messages.close()
    const last = await connect(double, { context: messages.context })
    await double.say('four')
    await last.received(1)
    expect(double.requests.filter((name) => name === asked[0])).toEqual(asked)
  })

  it('is continued after a restart, also for those who write for the first time', async () => {
    const { double, received, reconnect } = await start()
    await double.say('zero')
    await received(1)
    const messages = await reconnect(async () => {
      await double.say('one')
      await double.sayInGroup('new', { mentioned: true })
    })
    expect(textsOf(await messages.received(2))).toEqual(['one', 'new'])
    expect(double.gateway).toMatchObject({ identified: 1, resumed: 1 })
  })

  it('starts anew if the token belongs to another bot', async () => {
    const double = await open()
    const first = await connect(double)
    await double.say('zero')
    await first.received(1)
    await first.close()
    const other = await open({ token: 'token-of.another.bot_0123456789', bot: '900000000000000002' })
    await connect(other, { context: first.context })
    expect(other.gateway).toMatchObject({ identified: 1, resumed: 0 })
  })

  it('of one account does not concern another', async () => {
    const doubles = [await open(), await open({ token: 'token-of.another.bot_0123456789' })] as const
    const connections = [await connect(doubles[0]), await connect(doubles[1])] as const
    for (const [index, double] of doubles.entries()) {
      await double.disconnect()
      await double.say(`hello ${index}`)
    }
    for (const [index, double] of doubles.entries()) {
      expect(textsOf(await connections[index]!.received(1))).toEqual([`hello ${index}`])
      expect(double.gateway).toMatchObject({ identified: 1, resumed: 1 })
    }
  })

  it('is reported when Discord cannot be reached, instead of trying forever', async () => {
    const double = await openDiscord()
    const { lost } = await connect(double)
    await double.close()
    expect(await lost).toBe('The connection to Discord failed.')
  })

  it('is reported when Discord closes each new one', async () => {
    const { double, lost } = await start()
    double.gateway.refuse.push(4000, 4000, 4000)
    await double.disconnect()
    expect(await lost).toBe('Discord closed the connection with code 4000.')
  })

  it('is reported when too many messages wait to be stored', async () => {
    const double = await open()
    const { lost } = await connect(double, { receive: () => new Promise(() => undefined) })
    for (let index = 0; index < 1100; index++) await double.say(`${index}`)
    expect(await lost).toBe('Too many messages are waiting to be stored.')
  })
})

describe('closing', () => {
  it('while the library waits to connect again leaves no connection', async () => {
    const { double, close } = await start()
    await double.disconnect()
    await close()
    expect(double.gateway.connections()).toBe(0)
    expect(double.gateway).toMatchObject({ identified: 1, resumed: 0 })
  })

  it.each([true, false])('while a socket is opening leaves no connection (it opens: %s)', async (isOpen) => {
    const { double, close } = await start()
    const held = double.gateway.holdNext()
    await double.disconnect()
    const decide = await held
    const closing = close()
    decide(isOpen)
    await closing
    await expect.poll(double.gateway.connections).toBe(0)
    expect(double.gateway.identified).toBe(1)
  })

  it('ends an attempt to connect', async () => {
    const double = await open()
    double.gateway.refuse.push(4000, 4000, 4000)
    const context = createTestContext()
    const attempt = rejectionOf(connect(double, { context }))
    await double.gateway.reached('identified', 1)
    context.abort()
    expect(await attempt).toBeInstanceOf(Error)
    expect(double.gateway.connections()).toBe(0)
  })
})

describe('with the gateway', () => {
  async function startBoth(changes: object = {}) {
    const [double, model] = [await open(), await startModel()]
    const gateway = await startGateway({
      agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m' } },
      providers: model.providers,
      channels: { discord: { ...double.config, allowFrom: [annId], ...changes } },
    })
    await expect.poll(() => gateway.logged.join('\n')).toMatch(/"discord".*"channel connected"/)
    return { double, model, ...gateway }
  }

  it('a webhook is answered on Discord, if its recipient is an id', async () => {
    const { double, model, post, logged } = await startBoth()
    model.script({ text: 'The backup has **failed**.' })
    const answer = await post('/hooks/agent', { message: 'hi', channel: 'discord', to: channelId })
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body.warnings).toBeUndefined()
    expect(await double.holds(1)).toMatchObject([{ to: channelId, text: 'The backup has **failed**.' }])
    expect(logged.join('\n')).not.toContain(double.config.token)
    const refused = await post('/hooks/agent', { message: 'hi', channel: 'discord', to: '#general' })
    expect(refused).toMatchObject({ status: 400 })
    expect(JSON.stringify(refused.body)).toContain('user:<id>')
  })

  it('a message on Discord is answered there', async () => {
    const { double, model } = await startBoth()
    model.script({ text: 'Hello Ann.' })
    await double.say('Hello?')
    expect(await model.prompt(0)).toContain('Hello?')
    expect(await double.holds(1)).toMatchObject([{ to: directId, text: 'Hello Ann.' }])
  })
})
