// The commands in a chat: /new, /stop and /status.
import { describe, expect, it } from 'vitest'
import { startChat } from '../../doubles/chat.ts'
import { messagesOf, startModel } from '../../doubles/model.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder } from '../../helpers.ts'
import { share } from '../../share.ts'

async function start(settings: Document = { allowFrom: ['ann'] }) {
  const [chat, model] = [await startChat(), await startModel()]
  const dir = temporaryFolder()
  const changes = {
    providers: model.providers,
    agents: { defaults: { heartbeat: { every: 0 }, model: 'double/m' }, main: { name: 'Helper' } },
    gateway: { drainSeconds: 0 },
    ...chat.config(dir, { 'chat-native': settings }),
  }
  return { chat, model, changes, ...(await startGateway(changes, dir)) }
}

type Running = Awaited<ReturnType<typeof start>>

/** Each sender has a session, and each test senders of its own. */
const shared = share(() => start({ allowFrom: ['ann', 'bob', 'cat', 'dan', 'fay'], directSession: 'sender' }))

/** The sender of a message, to whom its answer goes. */
const sender = (id: string) => ({ from: { id }, to: id })

const rolesOf = async ({ model }: Pick<Running, 'model'>, index: number) =>
  messagesOf(await model.request(index)).map(({ role }) => role)

describe('/new', () => {
  it('begins a new conversation, and the old one stays in the transcript', async () => {
    const { chat, model, get } = shared()
    const ann = sender('ann')
    const first = model.requests.length
    model.otherwise({ text: 'Hello.' })
    await chat.say({ text: 'I am Ann.', ...ann })
    await chat.holds(1, 'ann')
    expect(await chat.say({ text: '/new', ...ann })).toBe('accepted')
    expect((await chat.holds(2, 'ann'))[1]!.text).toBe('A new conversation has started.')
    await chat.say({ text: 'Who am I?', ...ann })
    await chat.holds(3, 'ann')
    expect(await rolesOf(shared(), first + 1)).toEqual(['system', 'user'])
    await chat.say({ text: 'And now?', ...ann })
    expect(await rolesOf(shared(), first + 2)).toEqual(['system', 'user', 'assistant', 'user'])
    await chat.holds(4, 'ann')
    expect((await get('/api/sessions/agent:main:chat-native:direct:ann')).body.transcript).toHaveLength(6)
  })

  it('with a text begins with that text, also with the name of a bot', async () => {
    const { chat, model } = shared()
    const bob = sender('bob')
    const first = model.requests.length
    model.otherwise({ text: 'Hello.' })
    await chat.say({ text: 'I am Bob.', ...bob })
    await chat.holds(1, 'bob')
    await chat.say({ text: '/new@helper_bot  Who am I?', ...bob })
    expect((await chat.holds(2, 'bob'))[1]!.text).toBe('Hello.')
    expect(await rolesOf(shared(), first + 1)).toEqual(['system', 'user'])
    expect(await model.prompt(first + 1)).toMatch(/Who am I\?$/)
    await chat.say({ text: 'More.', ...bob })
    expect(await rolesOf(shared(), first + 2)).toEqual(['system', 'user', 'assistant', 'user'])
    await chat.holds(3, 'bob')
  })

  it('leaves out what is added by a run that was accepted before', async () => {
    const { chat, model, get, post } = shared()
    const cat = sender('cat')
    const first = model.requests.length
    model.script({ hang: true }, { text: 'Late.' }, { text: 'Fresh.' })
    await chat.say({ text: 'Work.', ...cat })
    await chat.say({ text: 'Old.', ...cat })
    await model.request(first)
    await chat.say({ text: '/new', ...cat })
    await chat.holds(1, 'cat')
    const [{ id }] = (await get('/api/runs?status=running')).body.items
    await post(`/api/runs/${id}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })
    expect((await chat.holds(2, 'cat'))[1]!.text).toBe('Late.')
    await chat.say({ text: 'Hello?', ...cat })
    expect((await chat.holds(3, 'cat'))[2]!.text).toBe('Fresh.')
    expect(await rolesOf(shared(), first + 2)).toEqual(['system', 'user'])
  })

  it('concerns only its own session', async () => {
    const { chat, model } = shared()
    const dan = sender('dan')
    const first = model.requests.length
    model.otherwise({ text: 'Hello.' })
    await chat.say({ text: 'I am Dan.', ...dan })
    await chat.holds(1, 'dan')
    await chat.say({ ...dan, text: '/new', group: 'group', mentioned: true, to: 'room' })
    await chat.holds(1, 'room')
    await chat.say({ text: 'Who am I?', ...dan })
    expect(await rolesOf(shared(), first + 1)).toEqual(['system', 'user', 'assistant', 'user'])
    await chat.holds(2, 'dan')
  })

  it('survives a restart and is not repeated', async () => {
    const gateway = await start()
    const { chat, model, changes, dir } = gateway
    model.otherwise({ text: 'Hello.' })
    await chat.say({ text: 'One.' })
    await chat.holds(1)
    await chat.say({ id: 'n', text: '/new' })
    await chat.holds(2)
    await gateway.gateway.close()
    await startGateway(changes, dir)
    await chat.say({ text: 'Two.' })
    await chat.holds(3)
    expect(await chat.say({ id: 'n', text: '/new' })).toBe('duplicate')
    await chat.say({ text: 'Three.' })
    await chat.holds(4)
    expect(await rolesOf(gateway, 1)).toEqual(['system', 'user'])
    expect(await rolesOf(gateway, 2)).toEqual(['system', 'user', 'assistant', 'user'])
  })
})

describe('/stop', () => {
  it('cancels the running and the waiting runs of its session, and no others', async () => {
    const { chat, model, get } = await start({ allowFrom: ['ann'], directSession: 'sender' })
    model.otherwise({ hang: true })
    await chat.say({ text: 'Work.' })
    await chat.say({ text: 'More work.' })
    await chat.say({ text: 'Group work.', group: 'group', mentioned: true, to: 'room' })
    await model.request(1)
    await chat.say({ text: '/stop' })
    expect((await chat.holds(1))[0]!.text).toBe('Stopped: 2 runs.')
    await chat.say({ text: '/stop please' })
    await expect
      .poll(async () => (await get('/api/runs')).body.items.map(({ status }: { status: string }) => status).toSorted())
      .toEqual(['cancelled', 'cancelled', 'running'])
    expect((await chat.holds(2))[1]!.text).toMatch(/^(There is nothing to stop|Stopped: 1 run)\.$/)
  })
})

describe('/status', () => {
  it('says which agent and model answer, and what waits', async () => {
    const { chat, model } = await start()
    model.otherwise({ hang: true })
    await chat.say({ text: '/status' })
    expect((await chat.holds(1))[0]!.text).toBe(
      'Agent: main (Helper)\nModel: double/m\nWork: 0 runs in progress, 0 waiting',
    )
    await chat.say({ text: 'Work.' })
    await chat.say({ text: 'More work.' })
    await model.request(0)
    await chat.say({ text: '/status' })
    expect((await chat.holds(2))[1]!.text).toMatch(/Work: 1 run in progress, 1 waiting$/)
  })
})

describe('a command', () => {
  it('is ignored from senders that may not write to the agent', async () => {
    const { chat } = shared()
    expect(await chat.say({ text: '/status', ...sender('eve') })).toBe('ignored')
    expect(chat.held.filter(({ to }) => to === 'eve')).toEqual([])
  })

  it('must be the whole first word of the message', async () => {
    const { chat, model } = shared()
    model.otherwise({ text: 'Hello.' })
    const texts = ['/newer', 'say /new', '/New', '/help', '/news today']
    for (const text of texts) await chat.say({ text, ...sender('fay') })
    expect((await chat.holds(5, 'fay')).map(({ text }) => text)).toEqual(texts.map(() => 'Hello.'))
  })
})
