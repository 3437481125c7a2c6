// Messages from channels: who may write, which runs they start, and where the replies go.
import { describe, expect, it } from 'vitest'
import { startChat } from '../../doubles/chat.ts'
import { messagesOf, type ModelServer, startModel } from '../../doubles/model.ts'
import { type Document, startGateway, temporaryFolder } from '../../helpers.ts'
import { reconfigure } from '../../reconfigure.ts'
import { share } from '../../share.ts'

const quiet = { heartbeat: { every: 0 } }
const open = { allowFrom: ['ann'] }

async function start(
  channels: Parameters<Awaited<ReturnType<typeof startChat>>['config']>[1],
  { model, ...changes }: { model?: ModelServer } & Document = {},
) {
  const chat = await startChat()
  const dir = temporaryFolder()
  const agents = { defaults: { ...quiet, ...(model && { model: 'double/m' }) } }
  const gateway = await startGateway(
    { agents, ...(model && { providers: model.providers }), ...changes, ...chat.config(dir, channels) },
    dir,
  )
  return { chat, ...gateway }
}

/**
 * Starts two channels that anybody may write to, and one that Ann and Bob may write to. Its tests have message ids,
 * recipients and texts of their own.
 */
async function startOpen(model?: ModelServer) {
  const channels = { 'chat-native': open, 'chat-none': open, 'chat-reconcile': { allowFrom: ['Ann', 'bob'] } }
  const started = await start(channels, { ...(model && { model }) })
  /** The sent message that contains this text. */
  const sent = async (text: string) => {
    const find = () => started.chat.held.find((message) => message.text.includes(text))
    await expect.poll(find).toBeDefined()
    return find()!
  }
  return { ...started, sent }
}

const shared = share(() => startOpen())

/** Here each test scripts what the model answers. */
const talking = share(async () => {
  const model = await startModel()
  return { model, ...(await startOpen(model)) }
})

describe('a message from a channel', () => {
  it('is answered to its sender, with thread and route', async () => {
    const { chat, sent } = shared()
    const address = { to: 'room 5', threadId: 't9', route: { service: 'eu' } }
    expect(await chat.say({ text: 'Hello?', ...address })).toBe('accepted')
    expect(await sent('Received: Hello?')).toMatchObject({
      channel: 'chat-native',
      accountId: 'default',
      ...address,
    })
  })

  it('is accepted once, even if it is repeated or edited', async () => {
    const { chat, sent } = shared()
    expect(await chat.say({ id: 'a', text: 'First.', to: 'once' })).toBe('accepted')
    expect(await chat.say({ id: 'a', text: 'First.', to: 'once' })).toBe('duplicate')
    expect(await chat.say({ id: 'a', text: 'Edited.', to: 'once' })).toBe('duplicate')
    expect(await chat.say({ id: 'b', text: 'Last.', to: 'once' })).toBe('accepted')
    await sent('Received: Last.')
    const replies = chat.held.flatMap(({ to, text }) => (to === 'once' ? (/^Received: \w+/.exec(text) ?? []) : []))
    expect(replies).toEqual(['Received: First', 'Received: Last'])
  })

  it('is distinct from a message with the same id on another channel', async () => {
    const { chat } = shared()
    expect(await chat.say({ id: 'same' }, 'chat-native')).toBe('accepted')
    expect(await chat.say({ id: 'same' }, 'chat-none')).toBe('accepted')
  })

  it('is ignored if it has no text', async () => {
    const { chat } = shared()
    expect(await chat.say({ text: ' \n' })).toBe('ignored')
  })

  it('continues the conversation, and its turn renders the waiting events', async () => {
    const model = await startModel()
    model.script({ text: 'Hello Ann.' }, { text: 'It is Ann.' })
    const { chat, post } = await start({ 'chat-native': open }, { model })
    await chat.say({ text: 'I am Ann.' })
    await chat.holds(1)
    await post('/hooks/wake', { text: 'The build is green.', mode: 'next-heartbeat' })
    await chat.say({ text: 'Who am I?' })
    expect(messagesOf(await model.request(1)).map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    const prompt = await model.prompt(1)
    expect(prompt).toContain('The build is green.')
    expect(prompt).toMatch(/\n\nWho am I\?$/)
  })

  it('is answered in order, one at a time', async () => {
    const { chat, model } = talking()
    model.script({ text: 'one' }, { text: 'two' }, { text: 'three' })
    const inRoom = { to: 'ordered', group: 'group', mentioned: true } as const
    await Promise.all(['a', 'b', 'c'].map((text) => chat.say({ text, ...inRoom })))
    expect((await chat.holds(3, 'ordered')).map(({ text }) => text)).toEqual(['one', 'two', 'three'])
    expect(messagesOf(model.requests.at(-1)!).filter(({ role }) => role === 'user')).toHaveLength(3)
  })

  it('is answered with an error when its run fails', async () => {
    const { chat, model } = talking()
    model.script({ status: 401 })
    await chat.say({ to: 'failing' })
    const [reply] = await chat.holds(1, 'failing')
    expect(reply!.text).toMatch(/^I could not answer\. The model's service refused the credential/)
  })

  it('gets no answer when the reply is only an acknowledgement', async () => {
    const { chat, model } = talking()
    model.script({ text: 'HEARTBEAT_OK' }, { text: 'Yes.' })
    await chat.say({ text: 'Anything?', to: 'acknowledged' })
    await chat.say({ text: 'Really?', to: 'acknowledged' })
    expect((await chat.holds(1, 'acknowledged'))[0]!.text).toBe('Yes.')
  })

  it('is stored before the channel gets its acknowledgement, and answered after a restart', async () => {
    const model = await startModel()
    model.script({ hang: true }, { text: 'Here I am.' })
    const chat = await startChat()
    const dir = temporaryFolder()
    const changes = {
      providers: model.providers,
      agents: { defaults: { ...quiet, model: 'double/m' } },
      gateway: { drainSeconds: 0 },
      ...chat.config(dir, { 'chat-native': open }),
    }
    const before = await startGateway(changes, dir)
    expect(await chat.say({ id: 'a' })).toBe('accepted')
    await model.request(0)
    await before.gateway.close()
    await startGateway(changes, dir)
    expect(await chat.say({ id: 'a' })).toBe('duplicate')
    expect((await chat.holds(1))[0]).toMatchObject({ to: 'ann', text: 'Here I am.' })
  })
})

describe('allowFrom', () => {
  it('allows no sender when it is absent or empty', async () => {
    const { chat, logged } = await start({ 'chat-native': {}, 'chat-none': { allowFrom: [] } })
    expect(await chat.say({ text: 'canary' }, 'chat-native')).toBe('ignored')
    expect(await chat.say({}, 'chat-none')).toBe('ignored')
    expect(logged.filter((line) => line.includes('allowFrom')).map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ channel: 'chat-native', sender: 'ann' }),
      expect.objectContaining({ channel: 'chat-none', sender: 'ann' }),
    ])
    expect(logged.join('\n')).not.toContain('canary')
  })

  it('allows the senders that it names, in any case, and no others', async () => {
    const { chat } = shared()
    const from = (id: string) => chat.say({ from: { id } }, 'chat-reconcile')
    expect([await from('ANN'), await from('bob'), await from('an'), await from('*')]).toEqual([
      'accepted',
      'accepted',
      'ignored',
      'ignored',
    ])
  })
})

describe('the last route', () => {
  const run = { message: 'hi', wakeMode: 'next-heartbeat' }

  it('is the default recipient of a webhook reply: channel, recipient, thread and route', async () => {
    const { chat, post, sent } = shared()
    await chat.say({ to: 'room 1', threadId: 't1', route: { n: 1 } }, 'chat-native')
    await chat.say({ to: 'room 2', threadId: 't2', route: { n: 2 } }, 'chat-none')
    await post('/hooks/agent', { ...run, message: 'To the last one.' })
    expect(await sent('To the last one.')).toMatchObject({
      channel: 'chat-none',
      to: 'room 2',
      threadId: 't2',
      route: { n: 2 },
    })
  })

  it('is kept for each channel', async () => {
    const { chat, post, sent } = shared()
    await chat.say({ to: 'room 1' }, 'chat-native')
    await chat.say({ to: 'room 2' }, 'chat-none')
    await post('/hooks/agent', { ...run, message: 'To this channel.', channel: 'chat-native' })
    expect(await sent('To this channel.')).toMatchObject({ channel: 'chat-native', to: 'room 1' })
  })

  it('provides only the channel when the webhook names a recipient', async () => {
    const { chat, post, sent } = shared()
    await chat.say({ to: 'room 1', threadId: 't1', route: { n: 1 } })
    await post('/hooks/agent', { ...run, message: 'To room 9.', to: 'room 9' })
    const message = await sent('To room 9.')
    expect(message).toMatchObject({ channel: 'chat-native', to: 'room 9' })
    expect([message.threadId, message.route]).toEqual([undefined, undefined])
  })

  it('is not changed by senders that are not allowed', async () => {
    const { chat, post, sent } = shared()
    await chat.say({ to: 'room 1' }, 'chat-reconcile')
    await chat.say({ from: { id: 'eve' }, to: 'room of eve' }, 'chat-reconcile')
    await post('/hooks/agent', { ...run, message: 'Not to Eve.' })
    expect(await sent('Not to Eve.')).toMatchObject({ channel: 'chat-reconcile', to: 'room 1' })
  })

  it('survives a reload and a restart', async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const changes = { agents: { defaults: quiet }, ...chat.config(dir, { 'chat-native': open }) }
    const { gateway, post } = await startGateway(changes, dir)
    await chat.say({ to: 'room 1' })
    await chat.holds(1)
    await gateway.reload()
    expect((await post('/hooks/agent', run)).body.warnings).toBeUndefined()
    expect((await chat.holds(2))[1]).toMatchObject({ to: 'room 1' })
    await gateway.close()
    const after = await startGateway(changes, dir)
    expect((await after.post('/hooks/agent', run)).body.warnings).toBeUndefined()
    expect((await chat.holds(3))[2]).toMatchObject({ to: 'room 1' })
  })
})

describe('a group', () => {
  it('has a session of its own and leaves the last route of the main session', async () => {
    const { chat, model, post, sent } = talking()
    model.script({ text: 'To Ann.' }, { text: 'To the group.' }, { text: 'To Ann again.' })
    await chat.say({ to: 'ann', text: 'A secret.' })
    await sent('To Ann.')
    const room = { to: 'Room 1', threadId: 't1', route: { n: 7 } }
    await chat.say({ ...room, group: 'group', mentioned: true, text: 'Hello all.' })
    expect(await sent('To the group.')).toMatchObject(room)
    expect(JSON.stringify(model.requests.at(-1)!.body['messages'])).not.toContain('secret')
    await post('/hooks/agent', { message: 'hi', wakeMode: 'next-heartbeat' })
    expect(await sent('To Ann again.')).toMatchObject({ to: 'ann' })
  })
})

describe('accounts', () => {
  it('connect with their own settings, those of the channel, and defaults', async () => {
    const { chat } = await start({
      'chat-native': { ...open, defaultTo: 'ops', accounts: { work: { greeting: 'good morning' }, home: {} } },
    })
    await expect.poll(() => chat.connected.length).toBe(2)
    const url = expect.stringContaining('http://127.0.0.1')
    expect(chat.connected.toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1))).toEqual([
      { channel: 'chat-native', accountId: 'home', config: { url, greeting: 'hello' } },
      { channel: 'chat-native', accountId: 'work', config: { url, greeting: 'good morning' } },
    ])
  })

  it('send as the account of the last route while it is configured, otherwise to the default of the first', async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const config = (accounts: Document) => ({
      agents: { defaults: quiet },
      ...chat.config(dir, { 'chat-native': { ...open, accounts } }),
    })
    const running = await startGateway(config({ work: {} }), dir)
    const run = (channel?: string) =>
      running.post('/hooks/agent', { message: 'hi', wakeMode: 'next-heartbeat', channel })
    await chat.say({ to: 'ann' })
    expect((await chat.holds(1))[0]).toMatchObject({ accountId: 'work' })
    await reconfigure(running, config({ home: {}, work: {} }))
    await run()
    expect((await chat.holds(2))[1]).toMatchObject({ accountId: 'work', to: 'ann' })
    await reconfigure(running, config({ home: { defaultTo: 'ops' } }))
    await run('chat-native')
    expect((await chat.holds(3))[2]).toMatchObject({ accountId: 'home', to: 'ops' })
  })
})

describe('the response to a webhook', () => {
  it('warns that "last" leads nowhere before the main session has received a message', async () => {
    const { chat, post } = await start({ 'chat-native': open, 'chat-none': open })
    const warnings = async (fields: object = {}) =>
      (await post('/hooks/agent', { message: 'hi', wakeMode: 'next-heartbeat', ...fields })).body.warnings
    expect(await warnings()).toEqual([expect.stringContaining('The channel "last" leads nowhere')])
    await chat.say({ group: 'group', mentioned: true, to: 'room 1' })
    expect(await warnings()).toHaveLength(1)
    await chat.say({ to: 'ada' })
    expect(await warnings()).toBeUndefined()
    expect(await warnings({ channel: 'chat-native' })).toBeUndefined()
    expect(await warnings({ channel: 'chat-none' })).toEqual([expect.stringContaining('has no recipient yet')])
  })
})
