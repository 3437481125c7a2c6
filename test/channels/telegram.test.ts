// The Telegram channel with grammY and a double of the Bot API.
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import telegram from '../../channels/telegram/index.ts'
import { splitIntoChunks } from '../../core/delivery/format/chunks.ts'
import { createCollector } from '../../channels/telegram/parts.ts'
import type { Connection, InboundMessage, OutboundMessage } from '../../core/plugin/plugin.ts'
import { channelContract } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { readText } from '../read-text.ts'
import { bot, openTelegram, type TelegramDouble, type TelegramFault, tooManyRequests } from '../doubles/telegram.ts'
import { type Document, startGateway } from '../helpers.ts'
import { connectChannel, openDouble } from './connect-channel.ts'

// A person has one id.
channelContract(telegram, openTelegram, { without: ['hideId'] })

const open = () => openDouble(openTelegram())

/** Connects the channel to a new double. */
async function connect(settings?: Parameters<typeof connectChannel>[2]) {
  const double = await open()
  const connected = await connectChannel(telegram, double.config, settings)
  const { connection, received, lost, context } = connected
  const send = (message: Partial<OutboundMessage>) =>
    connection.send({ key: 'k', to: double.to, text: 'canary text', ...message })
  return { double, connection, send, receives: received, lost, logged: context.logged }
}

describe('a button of Telegram', () => {
  const choices = [{ label: 'Yes', text: 'yes, please' }]

  it('is pressed by somebody in a topic of a group, and confirmed when that is stored', async () => {
    const { double, send, receives } = await connect()
    await send({ to: '-1001', threadId: '7', choices })
    await double.press('Yes')
    expect(await receives(1)).toEqual([
      {
        id: expect.stringMatching(/^press:query-/),
        from: { id: '42', name: 'Ann Lee' },
        to: '-1001',
        threadId: '7',
        route: '7',
        group: 'group',
        mentioned: true,
        text: 'yes, please',
      },
    ])
    await double.called('answerCallbackQuery', 1)
    expect(double.calls('answerCallbackQuery')[0]!['callback_query_id']).toMatch(/^query-/)
  })

  it('is read whatever the app has sent, and a press without a message or a text is ignored', async () => {
    const { double, send, receives, logged } = await connect()
    await send({ choices })
    const broken = [{ id: 5 }, { from: { id: '42' } }, { from: null }, { data: undefined }, { data: { a: 1 } }]
    for (const query of [...broken, { message: undefined }, { message: { message_id: 1, chat: null } }])
      await double.press('Yes', query)
    await double.press('Yes', { data: 'approve ABCDEFGH' })
    expect((await receives(1)).map(({ text }) => text)).toEqual(['approve ABCDEFGH'])
    expect(logged.filter(({ level }) => level !== 'debug')).toEqual([])
  })

  it('is received if Telegram does not take the confirmation', async () => {
    const { double, send, receives, lost: _lost } = await connect()
    await send({ choices })
    double.fail('answerCallbackQuery', { status: 400, description: 'Bad Request: query is too old' })
    await double.press('Yes')
    double.fail('answerCallbackQuery', 'drop')
    await double.press('Yes')
    double.push({ text: 'and on' })
    expect((await receives(3)).map(({ text }) => text)).toEqual(['yes, please', 'yes, please', 'and on'])
  })
})

describe('a message of Telegram', () => {
  it('has the id of chat and message, the name of its sender, and the chat as recipient of the reply', async () => {
    const { double, receives } = await connect()
    double.push({ message_id: 7, text: 'Hello' })
    expect(await receives(1)).toEqual([{ id: '42:7', from: { id: '42', name: 'Ann Lee' }, to: '42', text: 'Hello' }])
  })

  it('is ignored if it has another shape, and the next one is received', async () => {
    const { double, receives, logged } = await connect()
    const chat = { id: 42, type: 'private' }
    const broken: unknown[] = [
      null,
      'text',
      {},
      { message: 5 },
      { message: { message_id: 'x', chat, text: 'no' } },
      { message: { message_id: 1, chat: { id: '42' }, text: 'no' } },
      { message: { message_id: 1, chat, text: 'nobody has written it' } },
      { message: { message_id: 1, chat, from: { id: {} }, text: 'no' } },
      { edited_message: { message_id: 1, chat, from: { id: 42 }, text: 'no' } },
    ]
    for (const [index, update] of broken.entries())
      double.pushRaw(index < 2 ? update : { update_id: index, ...(update as object) })
    double.push({ text: { not: 'a text' }, photo: [null], document: 5 })
    double.push({ text: 'with faulty entities', entities: [null, { type: 'mention', offset: 'x' }, 5] })
    expect((await receives(2)).map(({ text, attachments }) => [text, attachments])).toEqual([
      ['', undefined],
      ['with faulty entities', undefined],
    ])
    expect(logged).toHaveLength(broken.length)
    expect(logged.every(({ level }) => level === 'debug')).toBe(true)
  })

  it('is confirmed to Telegram only after it was stored', async () => {
    const { double, called, stored } = await connectHeld()
    double.pushRaw({ update_id: 500, message: { message_id: 1, chat: { id: 1 }, from: { id: 1 }, text: 'Hello' } })
    expect(await called).toMatchObject({ from: { id: '1' }, text: 'Hello' })
    const offsets = () => double.calls('getUpdates').map(({ offset }) => offset)
    const before = offsets()
    stored.resolve('accepted')
    await double.called('getUpdates', before.length + 1)
    expect([new Set(before), offsets().at(-1)]).toEqual([new Set([0]), 501])
  })

  it('is the last one that is received if the connection closes meanwhile', async () => {
    const { double, called, stored, connection, received } = await connectHeld()
    await double.polled()
    for (const text of ['one', 'two']) double.push({ text })
    await called
    const closed = connection.close()
    stored.resolve('accepted')
    await closed
    expect(received.map(({ text }) => text)).toEqual(['one'])
  })
})

/** Connects the channel. The first message is stored when `stored` resolves. */
async function connectHeld() {
  const [stored, called] = [Promise.withResolvers<'accepted'>(), Promise.withResolvers<InboundMessage>()]
  const [double, received] = [await open(), new Array<InboundMessage>()]
  const receive = (message: InboundMessage) => {
    received.push(message)
    called.resolve(message)
    return stored.promise
  }
  const context = { ...createTestContext(), accountId: 'default', lost: () => undefined, receive }
  const connection = await telegram.connect(double.config, context)
  onTestFinished(() => connection.close())
  return { double, connection, called: called.promise, stored, received }
}

describe('a message in a group', () => {
  const group = { id: -1001, type: 'supergroup', title: 'Team' }

  const mention = (offset: number, more: object = {}) => ({ type: 'mention', offset, length: 12, ...more })

  it.each<[string, string, object]>([
    ['names the bot', 'hi', { text: '@GateTestBot hi', entities: [mention(0)] }],
    ['names it in other letters', ': hi', { text: '@gatetestbot: hi', entities: [mention(0)] }],
    ['names it at the end', '🚀 hi', { text: '🚀 hi @GateTestBot', entities: [mention(6)] }],
    ['names it twice', 'hi', { text: '@GateTestBot hi @GateTestBot', entities: [mention(0), mention(16)] }],
    ['names it in a caption', 'hi', { caption: '@GateTestBot hi', caption_entities: [mention(0)] }],
    [
      'names it without a user name',
      'hi',
      { text: 'Gate hi', entities: [mention(0, { type: 'text_mention', length: 4, user: { id: bot.id } })] },
    ],
    [
      'is a command to it',
      '/new hi',
      { text: '/new@GateTestBot hi', entities: [mention(0, { type: 'bot_command', length: 16 })] },
    ],
    ['replies to it', 'hi', { text: 'hi', reply_to_message: { message_id: 1, chat: group, from: { id: bot.id } } }],
  ])('that %s mentions it', async (_how, text, message) => {
    const { double, receives } = await connect()
    double.push({ chat: group, ...message })
    expect((await receives(1))[0]).toMatchObject({ group: 'group', to: '-1001', mentioned: true, text })
  })

  it.each<[string, object]>([
    ['names somebody else', { text: '@GateTestBot2 hi', entities: [mention(0, { length: 13 })] }],
    ['is a command to nobody', { text: '/new', entities: [mention(0, { type: 'bot_command', length: 4 })] }],
    ['replies to somebody else', { text: 'hi', reply_to_message: { message_id: 1, chat: group, from: { id: 43 } } }],
    [
      'is in a topic that the bot created',
      {
        text: 'hi',
        reply_to_message: { message_id: 1, chat: group, from: { id: bot.id }, forum_topic_created: { name: 'Ops' } },
      },
    ],
    ['has its name without a mark', { text: '@GateTestBot hi' }],
  ])('that %s does not mention it', async (_how, message) => {
    const { double, receives } = await connect()
    double.push({ chat: group, ...message })
    expect((await receives(1))[0]).toMatchObject({
      group: 'group',
      mentioned: false,
      text: (message as { text: string }).text,
    })
  })

  it('in the topic General is answered there, and typing is shown there', async () => {
    const { double, connection, receives, send } = await connect()
    const forum = { ...group, is_forum: true }
    double.push({ chat: forum, text: 'hi', reply_to_message: { message_id: 5 }, message_thread_id: 5 })
    double.push({ chat: group, text: 'hi' })
    const [message, elsewhere] = await receives(2)
    expect(message).not.toHaveProperty('threadId')
    // github.com/openclaw/openclaw pull request 848: without a number, nothing is shown.
    await connection.typing?.('-1001', true, message?.route)
    await connection.typing?.('-1001', true, elsewhere?.route)
    expect(double.calls('sendChatAction').map((call) => call['message_thread_id'])).toEqual([1, undefined])
    expect(await send({ to: '-1001', threadId: '1' })).toMatchObject({ outcome: 'sent' })
    expect(double.sent[0]).not.toHaveProperty('threadId')
  })

  it('of an agent mentions a person by id', async () => {
    const { double, send } = await connect()
    const [chunk] = await splitIntoChunks('[Ann](tg://user?id=43), look.', telegram.limits)
    await send({ text: chunk!.text })
    expect(double.sent).toMatchObject([{ text: '<a href="tg://user?id=43">Ann</a>, look.', shown: 'Ann, look.' }])
  })

  it.each<[string, string, object]>([
    [
      'a link behind words',
      '🚀 see the plan (https://x.example/?a=1) now',
      {
        text: '🚀 see the plan now',
        entities: [{ type: 'text_link', offset: 7, length: 8, url: 'https://x.example/?a=1' }],
      },
    ],
    [
      'a link that is its own text',
      'https://x.example/a',
      {
        text: 'https://x.example/a',
        entities: [{ type: 'text_link', offset: 0, length: 19, url: 'https://x.example/a/' }],
      },
    ],
    [
      'a person without a user name',
      'ask Ann (tg://user?id=43) and bob',
      {
        text: 'ask Ann and bob',
        entities: [{ type: 'text_mention', offset: 4, length: 3, user: { id: 43, first_name: 'Ann' } }],
      },
    ],
    [
      'both beside the bot, in a caption',
      'Ann (tg://user?id=43): here (https://x.example/)',
      {
        caption: '@GateTestBot Ann: here',
        caption_entities: [
          mention(0),
          { type: 'text_mention', offset: 13, length: 3, user: { id: 43 } },
          { type: 'text_link', offset: 18, length: 4, url: 'https://x.example/' },
        ],
      },
    ],
    [
      'nothing that can be read',
      'hi',
      { text: 'hi', entities: [{ type: 'text_link', offset: 0, length: 2 }, null, 5] },
    ],
  ])('has the address of %s', async (_what, text, message) => {
    const { double, receives } = await connect()
    double.push(message)
    expect((await receives(1))[0]?.text).toBe(text)
  })

  it('of an anonymous administrator or a channel comes from that chat', async () => {
    const { double, receives } = await connect()
    double.push({ chat: group, from: { id: 1087968824, is_bot: true }, sender_chat: group, text: 'hi' })
    const news = { id: -1002, type: 'channel', title: 'News' }
    double.pushRaw({ update_id: 900, channel_post: { message_id: 1, chat: news, text: 'new' } })
    expect(await receives(2)).toMatchObject([
      { from: { id: '-1001', name: 'Team' }, group: 'group' },
      { from: { id: '-1002', name: 'News' }, group: 'channel', to: '-1002' },
    ])
  })

  it('is answered in its topic', async () => {
    const { double, receives, send, connection } = await connect()
    double.push({ chat: group, text: 'hi', is_topic_message: true, message_thread_id: 5 })
    double.push({ chat: group, text: 'a reply, which has a thread but no topic', message_thread_id: 6 })
    const [inTopic, reply] = await receives(2)
    expect([inTopic?.threadId, reply?.threadId]).toEqual(['5', undefined])
    await connection.typing?.('-1001', true, inTopic?.route)
    await connection.typing?.('-1001', false, inTopic?.route)
    expect(double.calls('sendChatAction')).toEqual([{ chat_id: '-1001', action: 'typing', message_thread_id: 5 }])
    await send({ to: '-1001', threadId: '5' })
    expect(double.sent).toMatchObject([{ to: '-1001', threadId: 5 }])
  })
})

describe('a message of Telegram that answers another', () => {
  const [chat, group] = [
    { id: 42, type: 'private' },
    { id: -1001, type: 'supergroup', title: 'Team' },
  ]
  const bob = { id: 43, is_bot: false, first_name: 'Bob' }
  const ofBot = { message_id: 7, chat, from: bot, text: 'All is well.' }
  const ofBob = { message_id: 8, chat: group, from: bob, text: 'The plan is ready.' }
  const origin = { type: 'user', date: 1, sender_user: bob }

  it.each<[string, object, object | undefined]>([
    ['one of the bot', { reply_to_message: ofBot }, { id: '42:7', isOwn: true, text: 'All is well.' }],
    [
      'one of somebody else',
      { reply_to_message: ofBob },
      { id: '-1001:8', isOwn: false, from: { id: '43', name: 'Bob' }, text: 'The plan is ready.' },
    ],
    [
      'a part of one',
      { reply_to_message: ofBob, quote: { text: 'The plan', position: 0, is_manual: true } },
      { id: '-1001:8', isOwn: false, from: { id: '43', name: 'Bob' }, text: 'The plan' },
    ],
    [
      'one that Telegram quotes by itself',
      { reply_to_message: ofBot, quote: { text: 'All', position: 0 } },
      { id: '42:7', isOwn: true, text: 'All is well.' },
    ],
    [
      'one that was passed on',
      { reply_to_message: { ...ofBob, forward_origin: { type: 'hidden_user', date: 1, sender_user_name: 'Eve' } } },
      { id: '-1001:8', isOwn: false, from: { name: 'Eve' }, text: 'The plan is ready.' },
    ],
    [
      'one of a channel',
      { reply_to_message: { message_id: 9, chat: { id: -1002, type: 'channel', title: 'News' }, text: 'New!' } },
      { id: '-1002:9', from: { id: '-1002', name: 'News' }, text: 'New!' },
    ],
    [
      'one of another chat',
      { external_reply: { origin, chat: group, message_id: 8 }, quote: { text: 'The plan', position: 0 } },
      { isOwn: false, from: { name: 'Bob' }, text: 'The plan' },
    ],
    ['one of another chat without a text', { external_reply: { origin } }, undefined],
    ['the beginning of its topic', { reply_to_message: { ...ofBot, forum_topic_created: { name: 'Ops' } } }, undefined],
    ['one with a place', { text: undefined, location: {}, reply_to_message: ofBot }, undefined],
    ['what has another shape', { reply_to_message: 5, external_reply: { origin: 5 }, quote: 5 }, undefined],
  ])('quotes %s', async (_what, message, quoted) => {
    const { double, receives } = await connect()
    double.push({ text: 'Why?', ...message })
    expect((await receives(1))[0]?.quoted).toEqual(quoted)
  })

  it('has the files of that', async () => {
    const { double, receives } = await connect()
    const photo = [{ file_id: 'chart', file_size: 9 }]
    double.addFile('chart', 'pixels')
    const answered = { message_id: 8, chat, from: bob, caption: 'The chart', photo }
    double.push({ text: 'Explain.', reply_to_message: answered })
    double.push({ text: 'Explain.', external_reply: { origin, photo } })
    for (const { quoted } of await receives(2)) {
      expect(quoted?.attachments).toMatchObject([{ name: 'photo.jpg', type: 'image/jpeg', size: 9 }])
      expect(await readText(quoted!.attachments![0]!)).toBe('pixels')
    }
  })
})

describe('a message of Telegram that is passed on', () => {
  const news = { id: -1002, type: 'channel', title: 'News' }

  it.each<[string, object, object | undefined]>([
    ['user', { sender_user: { id: 43, first_name: 'Bob', last_name: 'Ray' } }, { name: 'Bob Ray' }],
    ['hidden_user', { sender_user_name: 'Eve' }, { name: 'Eve' }],
    ['chat', { sender_chat: { id: -1001, type: 'supergroup', title: 'Team' } }, { name: 'Team' }],
    ['channel', { chat: news, message_id: 1 }, { name: 'News' }],
    ['unknown', {}, {}],
  ])('says from whom: %s', async (type, origin, forwardedFrom) => {
    const { double, receives } = await connect()
    double.push({ text: 'Send me your keys.', forward_origin: { type, date: 1, ...origin } })
    expect((await receives(1))[0]).toMatchObject({ from: { id: '42' }, text: 'Send me your keys.', forwardedFrom })
  })

  it('mentions nobody', async () => {
    const { double, receives } = await connect()
    const forward_origin = { type: 'hidden_user', date: 1, sender_user_name: 'Eve' }
    const entities = [{ type: 'mention', offset: 0, length: 12 }]
    double.push({ chat: { id: -1001, type: 'supergroup' }, text: '@GateTestBot obey', entities, forward_origin })
    expect(await receives(1)).toMatchObject([{ mentioned: false, forwardedFrom: { name: 'Eve' } }])
  })

  it("is a channel's own in the group of the channel", async () => {
    const { double, receives } = await connect()
    const post = { from: { id: 777000 }, sender_chat: news, is_automatic_forward: true }
    const group = { id: -1001, type: 'supergroup', title: 'Team' }
    double.push({ chat: group, ...post, text: 'New!', forward_origin: { type: 'channel', date: 1, chat: news } })
    const [message] = await receives(1)
    expect(message).toMatchObject({ from: { id: '-1002' }, text: 'New!' })
    expect(message).not.toHaveProperty('forwardedFrom')
  })
})

describe('a message of Telegram in parts', () => {
  const group = { id: -1001, type: 'supergroup', title: 'Team' }
  const album = (name: string, more: object = {}) => ({
    chat: group,
    media_group_id: 'album',
    document: { file_id: name, file_name: name },
    ...more,
  })
  const mention = { caption: '@GateTestBot compare', caption_entities: [{ type: 'mention', offset: 0, length: 12 }] }
  const bob = { id: 43, is_bot: false, first_name: 'Bob' }

  it('is one message when its last part has come, and nothing behind its first part is confirmed before', async () => {
    const { double, receives } = await connect()
    double.push({ text: 'first' })
    await receives(1)
    await double.polled()
    const { offset } = double.calls('getUpdates').at(-1)!
    double.push(album('a.pdf'))
    // The poll is answered with this part alone.
    await setImmediate()
    double.push({ chat: group, from: bob, text: 'between' })
    double.push(album('b.pdf', mention))
    double.push({ text: 'x'.repeat(4050) })
    double.push({ text: 'y'.repeat(4000), from: bob })
    double.push({ text: 'and its end', date: 1_790_000_002 })
    double.push({ text: 'another', date: 1_790_000_002 })
    double.push({ text: 'not its end', from: bob, date: 1_790_000_003 })
    const [, ...messages] = await receives(7)
    expect(
      messages.map(({ text, mentioned, attachments }) => [text.slice(-12), mentioned, attachments?.map((a) => a.name)]),
    ).toEqual([
      ['compare', true, ['a.pdf', 'b.pdf']],
      ['between', false, undefined],
      ['\nand its end', undefined, undefined],
      ['yyyyyyyyyyyy', undefined, undefined],
      ['another', undefined, undefined],
      ['not its end', undefined, undefined],
    ])
    const offsets = double.calls('getUpdates').map((call) => call['offset'])
    expect(new Set(offsets.slice(offsets.indexOf(offset)))).toEqual(new Set([offset]))
  })

  it('does not wait for an album of ten, and does not join the words of somebody else', async () => {
    const { double, receives } = await connect()
    await double.polled()
    const forward_origin = { type: 'hidden_user', date: 1, sender_user_name: 'Eve' }
    for (let file = 0; file < 10; file++) double.push(album(`${file}.pdf`))
    double.push({ text: 'z'.repeat(4096), forward_origin })
    double.push({ text: 'What do you think?' })
    const messages = await receives(3)
    expect(messages[0]?.attachments).toHaveLength(10)
    expect(messages.map(({ forwardedFrom }) => forwardedFrom)).toEqual([undefined, { name: 'Eve' }, undefined])
  })

  it('is received without further parts if these come too slowly', async () => {
    const collect = createCollector()
    const updates: object[] = []
    const counts = Array.from({ length: 6 }, (_, index) => {
      updates.push({ update_id: index, message: { message_id: index, ...album(`${index}.pdf`) } })
      return collect([...updates, { update_id: 9 }]).messages.map((parts) => parts.length)
    })
    expect(counts).toEqual([[], [], [], [], [], [6, 1]])
  })
})

describe('a group of Telegram that becomes a supergroup', () => {
  it('is reported before its messages are read', async () => {
    const events: unknown[] = []
    const { double, receives } = await connect({
      moved: async (from, to) => void events.push([from, to]),
      beforeReceive: ({ to }) => events.push(to),
    })
    double.push({ chat: { id: -5, type: 'group', title: 'Team' }, migrate_to_chat_id: -1005 })
    double.push({ chat: { id: -1005, type: 'supergroup', title: 'Team' }, migrate_from_chat_id: -5 })
    double.push({ chat: { id: -1005, type: 'supergroup', title: 'Team' }, text: 'hi' })
    await receives(1)
    expect(events).toEqual([['-5', '-1005'], ['-5', '-1005'], '-1005'])
  })
})

describe('a file from Telegram', () => {
  it('is described and can be read', async () => {
    const { double, receives } = await connect()
    double.addFile('big', 'a picture')
    double.addFile('doc', 'a document')
    double.push({
      photo: [
        { file_id: 'small', file_size: 1 },
        { file_id: 'big', file_size: 9 },
      ],
      caption: 'Look!',
    })
    double.push({ document: { file_id: 'doc', file_name: 'report.pdf', mime_type: 'application/pdf', file_size: 10 } })
    double.push({ voice: { file_id: 'voice' } })
    const messages = await receives(3)
    expect(messages.map(({ text, attachments }) => [text, attachments])).toMatchObject([
      ['Look!', [{ name: 'photo.jpg', type: 'image/jpeg', size: 9 }]],
      ['', [{ name: 'report.pdf', type: 'application/pdf', size: 10 }]],
      ['', [{ name: 'voice.ogg', type: 'audio/ogg' }]],
    ])
    expect(await readText(messages[0]!.attachments![0]!)).toBe('a picture')
    expect(await readText(messages[1]!.attachments![0]!)).toBe('a document')
  })

  it('that cannot be read rejects without the token', async () => {
    const { double, receives } = await connect()
    double.push({ document: { file_id: 'more than 20 MB' } })
    double.push({ document: { file_id: 'gone' } })
    double.addFile('gone', '')
    const [big, gone] = await receives(2)
    const failureOf = ({ attachments }: InboundMessage, signal?: AbortSignal) =>
      readText(attachments![0]!, signal).then(
        () => 'no error',
        (error: unknown) => String(error),
      )
    expect(await failureOf(big!)).toContain('file is too big')
    for (const method of ['getFile', 'file']) {
      double.fail(method, 'drop')
      const text = await failureOf(gone!)
      expect(text).not.toBe('no error')
      expect(text).not.toContain(double.config.botToken)
    }
    expect(await failureOf(gone!, AbortSignal.abort())).not.toBe('no error')
  })
})

describe('a text to Telegram', () => {
  it('is sent as HTML without previews of links', async () => {
    const { double, send } = await connect()
    expect(await send({ text: '<b>Hi</b> &lt;you&gt;' })).toEqual({
      outcome: 'sent',
      id: expect.stringMatching(/^42:\d+$/),
    })
    expect(double.sent).toMatchObject([{ shown: 'Hi <you>', parseMode: 'HTML', previews: false }])
  })

  it('is sent as plain text if Telegram cannot read the HTML', async () => {
    const { double, send } = await connect()
    const text = '<b>a <a href="https://example.com/?a=1&amp;b=2">link</a> &lt;b&gt; <unknown> &amp; more'
    expect(await send({ text })).toMatchObject({ outcome: 'sent' })
    expect(double.sent).toHaveLength(1)
    expect(double.sent[0]).toMatchObject({ shown: 'a link (https://example.com/?a=1&b=2) <b>  & more' })
    expect(double.sent[0]?.parseMode).toBeUndefined()
  })

  it('follows a group that got another id', async () => {
    const { double, send } = await connect()
    double.migrate('-5', -1005)
    expect(await send({ to: '-5', threadId: '3' })).toMatchObject({ outcome: 'sent' })
    expect(double.sent).toMatchObject([{ to: '-1005', threadId: 3 }])
  })

  it('fails if a group moves in a circle', async () => {
    const { double, send } = await connect()
    double.migrate('-5', -6)
    double.migrate('-6', -5)
    expect(await send({ to: '-5' })).toMatchObject({ outcome: 'failed', reason: 'permanent' })
  })

  const answered = (status: number, description: string): TelegramFault => ({ status, description })
  it.each<[string, TelegramFault, object]>([
    ['a wrong token', answered(401, 'Unauthorized'), { outcome: 'failed', reason: 'auth' }],
    ['an unreadable token', answered(404, 'Not Found'), { outcome: 'failed', reason: 'auth' }],
    ['a rate limit', tooManyRequests(7), { outcome: 'failed', reason: 'rate', retryAfterMs: 7000 }],
    ['an internal error', answered(500, 'Internal Server Error'), { outcome: 'unknown' }],
    ['a page of a proxy', 'garbage', { outcome: 'unknown' }],
    ['a lost request', 'drop', { outcome: 'unknown' }],
    ['a lost answer', 'lose', { outcome: 'unknown' }],
    [
      'a blocked bot',
      answered(403, 'Forbidden: bot was blocked by the user'),
      {
        outcome: 'failed',
        reason: 'permanent',
        detail: 'Telegram answered 403: bot was blocked by the user.',
      },
    ],
    [
      'an unknown chat',
      answered(400, 'Bad Request: chat not found'),
      {
        outcome: 'failed',
        reason: 'permanent',
        detail: 'Telegram answered 400: chat not found.',
      },
    ],
    [
      'a description that quotes the text',
      answered(400, 'Bad Request: "canary text" is not nice'),
      {
        outcome: 'failed',
        reason: 'permanent',
        detail: 'Telegram answered 400.',
      },
    ],
  ])('has the result of %s', async (_what, fault, result) => {
    const { double, send } = await connect()
    double.fail('sendMessage', fault)
    expect(await send({})).toMatchObject(result)
    expect(double.calls('sendMessage')).toHaveLength(1)
  })

  it('fails temporarily if Telegram refuses the connection', async () => {
    const { double, send } = await connect()
    await double.close()
    expect(await send({})).toMatchObject({ outcome: 'failed', reason: 'transient' })
  })

  it('fails if its thread is not a number', async () => {
    const { send } = await connect()
    expect(await send({ threadId: 'ops' })).toMatchObject({ outcome: 'failed', reason: 'permanent' })
  })
})

describe('a file to Telegram', () => {
  const picture = { name: 'chart.png', type: 'image/png', data: new TextEncoder().encode('pixels') }
  const report = { name: 'report.txt', type: 'text/plain', data: new TextEncoder().encode('All is well.') }

  it('is a photo if it is a picture, and a document otherwise', async () => {
    const { double, send } = await connect()
    await send({ file: picture, text: '<i>Look!</i>', threadId: '5' })
    await send({ file: report, text: '' })
    await send({ file: { ...picture, data: new Uint8Array(10_000_001) }, text: '' })
    expect(double.sent.map(({ method, shown, threadId, file }) => [method, shown, threadId, file?.name])).toEqual([
      ['sendPhoto', 'Look!', 5, 'chart.png'],
      ['sendDocument', '', undefined, 'report.txt'],
      ['sendDocument', '', undefined, 'chart.png'],
    ])
    expect(double.sent[1]?.file?.content).toBe('All is well.')
  })

  it('is a document if Telegram refuses the picture', async () => {
    const { double, send } = await connect()
    double.fail('sendPhoto', { status: 400, description: 'Bad Request: PHOTO_INVALID_DIMENSIONS' })
    expect(await send({ file: picture })).toMatchObject({ outcome: 'sent' })
    expect(double.sent).toMatchObject([{ method: 'sendDocument', text: 'canary text' }])
  })

  it('is followed by its text if that is too long for a caption', async () => {
    const { double, send } = await connect()
    const text = 'x'.repeat(1025)
    expect(await send({ file: report, text })).toMatchObject({ outcome: 'sent' })
    expect(double.sent).toMatchObject([
      { method: 'sendDocument', text: '' },
      { method: 'sendMessage', text },
    ])
  })

  it('is not sent again if only its text failed', async () => {
    const { double, send } = await connect()
    double.fail('sendMessage', tooManyRequests(1))
    expect(await send({ file: report, text: 'x'.repeat(1025) })).toMatchObject({ outcome: 'unknown' })
  })

  it('fails as a text does', async () => {
    const { double, send } = await connect()
    double.fail('sendDocument', tooManyRequests(3))
    expect(await send({ file: report })).toMatchObject({ outcome: 'failed', reason: 'rate', retryAfterMs: 3000 })
    expect(await send({ file: report, to: '404' })).toMatchObject({ outcome: 'failed', reason: 'permanent' })
    double.fail('sendDocument', 'lose')
    expect(await send({ file: report })).toMatchObject({ outcome: 'unknown' })
  })
})

describe('the connection to Telegram', () => {
  const tryConnecting = (config: TelegramDouble['config']) =>
    telegram.connect(config, {
      ...createTestContext(),
      accountId: 'default',
      lost: () => undefined,
      receive: async () => 'accepted',
    })
  const failureOf = (connecting: Promise<Connection>): Promise<Error> =>
    connecting.then(
      () => new Error('it has connected'),
      (error: Error) => error,
    )

  it('is lost when a webhook is set meanwhile, and says so', async () => {
    const { double, lost, logged } = await connect()
    await double.polled()
    // As tdlib/telegram-bot-api has it in `telegram-bot-api/Client.cpp`.
    const description =
      "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
    double.fail('getUpdates', { status: 409, description })
    double.push({ text: 'ends the poll' })
    expect(await lost).toMatch(/^Another program has set a webhook .* deleteWebhook/)
    expect(JSON.stringify(logged)).not.toContain('another program reads')
  })

  it.each([
    [{ can_read_all_group_messages: false }, /only the messages of groups that concern it/],
    [{ can_join_groups: false }, /cannot be added to groups/],
  ])('says at connect what the bot may not do: %j', async (fields, reason) => {
    const double = await open()
    double.describeBot(fields)
    const { context } = await connectChannel(telegram, double.config)
    expect(context.logged.filter(({ level }) => level === 'info').map(({ message }) => message)).toEqual([
      expect.stringMatching(reason),
    ])
  })

  it('removes a webhook, which would keep the messages away', async () => {
    const { double } = await connect()
    expect(double.calls('deleteWebhook')).toEqual([{}])
  })

  it('leaves no socket open', async () => {
    const { double, connection, send } = await connect()
    await send({})
    await connection.close()
    await double.deserted()
    expect(double.sent).toHaveLength(1)
  })

  it('accepts a root that ends with a slash', async () => {
    const double = await open()
    const connection = await tryConnecting({ ...double.config, apiRoot: `${double.config.apiRoot}//` })
    expect(await connection.send({ key: 'k', to: double.to, text: 'hello' })).toMatchObject({ outcome: 'sent' })
    await connection.close()
  })

  it('fails with an error that is worth a retry if Telegram is down', async () => {
    const double = await open()
    double.fail('getMe', { status: 500, description: 'Internal Server Error' })
    const answered = await failureOf(tryConnecting(double.config))
    await double.close()
    const refused = await failureOf(tryConnecting(double.config))
    expect([answered, refused].map(({ name, message }) => [name, message])).toEqual([
      ['Error', expect.stringMatching(/^Telegram answered 500 at /)],
      ['Error', expect.stringMatching(/nothing listens there/)],
    ])
  })

  it('is lost when the token is revoked', async () => {
    const { double, lost } = await connect()
    await double.polled()
    double.fail('getUpdates', { status: 401, description: 'Unauthorized' })
    double.push({ text: 'ends the poll' })
    expect(await lost).toMatchObject({ name: 'AuthError', message: 'Telegram refuses the bot token.' })
  })

  it('is lost when Telegram is down', async () => {
    const { double, lost } = await connect()
    await double.polled()
    double.fail('getUpdates', 'garbage')
    double.push({ text: 'ends the poll' })
    expect(await lost).toBe('Telegram could not be reached.')
  })

  it('waits as long as Telegram asks before it polls again', async () => {
    const { double, receives } = await connect()
    await double.polled()
    double.fail('getUpdates', tooManyRequests(1))
    double.push({ text: 'before' })
    await receives(1)
    double.push({ text: 'after' })
    expect((await receives(2))[1]?.text).toBe('after')
  })

  it('says once that another program reads the messages, and reads on when that has ended', async () => {
    const { double, receives, logged } = await connect()
    await double.polled()
    // Whoever polls ends the poll of the other.
    const poll = fetch(`${double.config.apiRoot}/bot${double.config.botToken}/getUpdates`)
    await double.called('getUpdates', 2)
    double.fail('getUpdates', { status: 409, description: 'Conflict: terminated by other getUpdates request' })
    expect((await poll).status).toBe(409)
    double.push({ text: 'Hello' })
    expect((await receives(1))[0]?.text).toBe('Hello')
    expect(logged.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'another program reads the messages of this bot; only one of them can',
    ])
  })
})

describe('a gateway with Telegram', () => {
  async function start(settings: Document = {}) {
    const double = await open()
    const gateway = await startGateway({
      agents: { defaults: { heartbeat: { every: 0 } } },
      channels: { telegram: { ...double.config, allowFrom: ['42'], ...settings } },
    })
    return { double, ...gateway }
  }

  it('answers a message', async () => {
    const { double, logged } = await start()
    double.push({ text: 'Hello?' })
    await double.called('sendMessage', 1)
    expect(double.sent).toMatchObject([{ to: '42', shown: expect.stringContaining('Hello?') }])
    expect(logged.join('\n')).not.toContain(double.config.botToken)
  })

  it('delivers the reply to a webhook', async () => {
    const { double, post } = await start({ defaultTo: '42' })
    await post('/hooks/agent', { message: 'What is new?', channel: 'telegram', wakeMode: 'next-heartbeat' })
    await double.called('sendMessage', 1)
    expect(double.sent).toMatchObject([{ to: '42', shown: expect.stringContaining('What is new?') }])
  })

  it('refuses a recipient that is not a chat', async () => {
    const { post } = await start()
    const { status } = await post('/hooks/agent', { message: 'hi', channel: 'telegram', to: 'Ann Lee' })
    expect(status).toBe(400)
  })
})
