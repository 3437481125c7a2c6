// Which messages the agent reads, which agent answers, and in which session.
import { describe, expect, it } from 'vitest'
import { type Chat, startChat } from '../../doubles/chat.ts'
import { startModel } from '../../doubles/model.ts'
import { type Document, startGateway, temporaryFolder } from '../../helpers.ts'
import { reconfigure } from '../../reconfigure.ts'
import { share } from '../../share.ts'

const defaults = { heartbeat: { every: 0 } }

async function start(channels: Parameters<Chat['config']>[1], changes: Document = {}) {
  const chat = await startChat()
  const dir = temporaryFolder()
  const gateway = await startGateway({ agents: { defaults }, ...changes, ...chat.config(dir, channels) }, dir)
  const sessions = async () =>
    (await gateway.get('/api/sessions')).body.items.map(({ key }: { key: string }) => key).toSorted()
  return { chat, sessions, ...gateway }
}

/** Tests that use the same channel have senders or groups of their own. */
const shared = share(() =>
  start({
    'chat-native': { allowFrom: ['*'] },
    'chat-reconcile': { dmPolicy: 'open', allowFrom: ['ann'], groups: { room: { requireMention: false }, '*': {} } },
    'chat-none': { allowFrom: ['*'], groups: { closed: { allow: false }, open: {} } },
  }),
)

/** Here accounts replace what is configured for their channels. */
const accounts = share(() =>
  start({
    'chat-native': { allowFrom: ['ann'], accounts: { work: { allowFrom: ['bob'] } } },
    'chat-none': { allowFrom: ['*'], groups: { a: {} }, accounts: { work: { groups: { b: {} } } } },
  }),
)

const inGroup = (to: string, more: object = {}) => ({ group: 'group' as const, mentioned: true, to, ...more })

describe('a direct message', () => {
  it('of an unknown sender is read with dmPolicy "open", and not in a group', async () => {
    const { chat } = shared()
    const from = { id: 'eve' }
    expect(await chat.say({ from }, 'chat-reconcile')).toBe('accepted')
    expect(await chat.say({ from, ...inGroup('room') }, 'chat-reconcile')).toBe('ignored')
  })

  it('is judged by allowFrom of its account, which replaces that of the channel', async () => {
    const { chat } = accounts()
    expect(await chat.say({ from: { id: 'ann' } })).toBe('ignored')
    expect(await chat.say({ from: { id: 'bob' } })).toBe('accepted')
  })

  it('is read if allowFrom lists another id of its sender', async () => {
    const { chat } = accounts()
    expect(await chat.say({ from: { id: '+1', otherIds: ['lid-1', 'bob'] } })).toBe('accepted')
    expect(await chat.say({ from: { id: '+2', otherIds: ['lid-2'] } })).toBe('ignored')
  })

  it('goes to a session for each sender with directSession "sender", and not to the main session', async () => {
    const { chat, sessions, post } = await start({
      'chat-native': { allowFrom: ['ann', 'bob'], directSession: 'sender' },
    })
    await chat.say({ from: { id: 'Ann' }, to: 'ann' })
    await chat.say({ from: { id: 'bob' }, to: 'bob' })
    expect((await chat.holds(2)).map(({ to }) => to).toSorted()).toEqual(['ann', 'bob'])
    expect(await sessions()).toEqual(['agent:main:chat-native:direct:ann', 'agent:main:chat-native:direct:bob'])
    const { body } = await post('/hooks/agent', { message: 'hi', wakeMode: 'next-heartbeat' })
    expect(body.warnings).toEqual([expect.stringContaining('"last" leads nowhere')])
  })

  it('is judged by the new configuration after a reload, without a new connection', async () => {
    const { chat, ...running } = await start({ 'chat-native': { allowFrom: ['ann'] } })
    const from = { id: 'bob' }
    expect(await chat.say({ from })).toBe('ignored')
    const changed = chat.config(running.dir, { 'chat-native': { allowFrom: ['bob'] } })
    await reconfigure(running, { agents: { defaults }, ...changed })
    expect(await chat.say({ from })).toBe('accepted')
    expect(chat.connected).toHaveLength(1)
  })
})

describe('a message in a group', () => {
  it('is read only if it mentions the agent, and its text is not logged', async () => {
    const { chat, logged } = shared()
    expect(await chat.say({ group: 'group', to: 'room', text: 'canary' })).toBe('ignored')
    expect(await chat.say({ group: 'channel', mentioned: false, to: 'room' })).toBe('ignored')
    expect(await chat.say(inGroup('room'))).toBe('accepted')
    const lines = logged
      .map((line) => JSON.parse(line))
      .filter(({ message, channel }) => message.includes('ignored') && channel === 'chat-native')
    // The first one tells the operator the id, and what to change. People who talk on do not fill the log.
    const [first, second] = lines
    expect(first).toMatchObject({
      level: 'info',
      message: 'message ignored: it does not mention the agent',
      sender: 'ann',
      group: 'room',
      setting: 'channels.chat-native.groups.room.requireMention',
    })
    expect(second).toMatchObject({ level: 'debug', group: 'room' })
    expect(logged.join('\n')).not.toContain('canary')
  })

  it('is read without a mention where requireMention is false', async () => {
    const { chat } = shared()
    expect(await chat.say({ group: 'group', to: 'Room' }, 'chat-reconcile')).toBe('accepted')
    expect(await chat.say({ group: 'group', to: 'other' }, 'chat-reconcile')).toBe('ignored')
  })

  it('is ignored if its sender is not in allowFrom', async () => {
    const { chat } = shared()
    expect(await chat.say(inGroup('room', { from: { id: 'eve' } }), 'chat-reconcile')).toBe('ignored')
    expect(await chat.say(inGroup('room'), 'chat-reconcile')).toBe('accepted')
  })

  it('is ignored where the group is closed or not listed', async () => {
    const { chat, logged } = shared()
    expect(await chat.say(inGroup('closed'), 'chat-none')).toBe('ignored')
    expect(await chat.say(inGroup('unknown'), 'chat-none')).toBe('ignored')
    expect(await chat.say(inGroup('open'), 'chat-none')).toBe('accepted')
    const lines = logged.map((line) => JSON.parse(line)).filter(({ message }) => message.includes('group is closed'))
    expect(lines.map(({ level, group }) => [level, group])).toEqual([
      ['info', 'closed'],
      ['info', 'unknown'],
    ])
  })

  it('is judged by the groups of its account, which replace those of the channel', async () => {
    const { chat } = accounts()
    expect(await chat.say(inGroup('a'), 'chat-none')).toBe('ignored')
    expect(await chat.say(inGroup('b'), 'chat-none')).toBe('accepted')
  })
})

describe('a mention by name, where the platform does not tell who is mentioned', () => {
  const running = share(() =>
    start(
      { 'chat-native': { allowFrom: ['*'], groups: { help: { agentId: 'support' }, '*': {} } } },
      { agents: { defaults, main: { name: 'Max Power' }, support: {} } },
    ),
  )

  it.each([
    ['room', '@Max Power, one?', 'one?'],
    ['room', 'max power: two?', 'two?'],
    ['room', 'Max Power，三？', '三？'],
    ['room', '@main four?', 'four?'],
    ['room', '  Main:\nfive?', 'five?'],
    ['help', '@support six?', 'six?'],
  ])('in %s is %j', async (to, text, rest) => {
    const { chat } = running()
    expect(await chat.say({ group: 'group', to, text })).toBe('accepted')
    const replies = () => chat.held.filter((reply) => reply.to === to).map((reply) => reply.text.split('\n')[0])
    await expect.poll(replies).toContain(`Received: ${rest}`)
  })

  it('may stand before a command', async () => {
    const { chat } = running()
    expect(await chat.say({ group: 'group', to: 'ops', text: '@main /status' })).toBe('accepted')
    expect((await chat.holds(1, 'ops'))[0]!.text).toContain('Agent: main')
  })

  it.each([
    ['room', 'What does Max Power say?'],
    ['room', 'Max Power is here'],
    ['room', 'mainly: nothing'],
    ['room', '@mainframe is down'],
    ['room', '@support what is new?'],
    ['help', '@main what is new?'],
    ['room', ': what is new?'],
  ])('in %s is not %j', async (to, text) => {
    const { chat } = running()
    expect(await chat.say({ group: 'group', to, text })).toBe('ignored')
  })

  it('does not count where the platform tells', async () => {
    const { chat } = running()
    expect(await chat.say({ group: 'group', to: 'room', text: '@main hello', mentioned: false })).toBe('ignored')
  })

  it('stays in the text of a direct message', async () => {
    const { chat } = running()
    expect(await chat.say({ text: '@main hello', to: 'ann' })).toBe('accepted')
    expect((await chat.holds(1, 'ann'))[0]!.text).toContain('Received: @main hello')
  })
})

describe('the agent', () => {
  const agents = { defaults, main: {}, work: {}, support: {} }

  it('is that of the group, of the account, of the channel, or the default agent', async () => {
    const groups = { help: { agentId: 'Support' }, '*': {} }
    const { chat, sessions } = await start(
      { 'chat-native': { allowFrom: ['ann'], agentId: 'work', groups } },
      { agents },
    )
    await chat.say({})
    await chat.say(inGroup('help'))
    await chat.say(inGroup('room', { group: 'channel' }))
    await chat.holds(3)
    expect(await sessions()).toEqual([
      'agent:support:chat-native:group:help',
      'agent:work:chat-native:channel:room',
      'agent:work:main',
    ])
  })

  it('works with its own model and instructions', async () => {
    const model = await startModel()
    model.script({ text: 'Hello.' })
    const { chat } = await start(
      { 'chat-native': { allowFrom: ['ann'], accounts: { one: { agentId: 'work' } } } },
      {
        providers: model.providers,
        agents: { defaults: { ...defaults, model: 'double/m' }, main: {}, work: { systemPrompt: 'You are at work.' } },
      },
    )
    await chat.say({})
    expect((await chat.holds(1))[0]!.text).toBe('Hello.')
    expect(JSON.stringify((await model.request(0)).body['messages'])).toContain('You are at work.')
  })
})

describe('a call of receive', () => {
  it('may have undefined optional fields', async () => {
    const { chat } = shared()
    const from = { id: 'ada', name: undefined }
    const absent = { group: undefined, mentioned: undefined, threadId: undefined, attachments: undefined }
    expect(await chat.say({ from, to: 'ada', ...absent })).not.toMatch(/rejected/)
    await chat.holds(1, 'ada')
  })

  it.each([
    [{ from: { id: '' } }, 'receive: from.id must be a non-empty string.'],
    [{ from: undefined }, 'receive: from must be an object with the id of the sender.'],
    [{ text: 5 }, 'receive: text must be a string.'],
    [{ to: ' ' }, 'receive: to must be a non-empty string.'],
    [{ group: 'dm' }, 'receive: group must be "group", "channel" or absent.'],
    [{ attachments: [{ name: 'a.txt' }] }, 'receive: attachments[0].type must be a string.'],
  ])('with a malformed message drops it, and is logged with its channel: %j', async (wrong, reason) => {
    const { chat, logged } = shared()
    const before = logged.length
    expect(await chat.say(wrong as never)).toBe('ignored')
    const lines = logged.slice(before).map((text) => JSON.parse(text))
    const line = lines.find(({ message }) => message.includes('was dropped'))
    expect(line).toMatchObject({ level: 'error', channel: 'chat-native', accountId: 'default', reason })
  })
})
