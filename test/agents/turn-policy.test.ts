// Tests which tools a turn is offered, depending on its origin, its group, its agent and its model.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Chat, startChat } from '../doubles/chat.ts'
import { messagesOf, type ModelServer, startModel } from '../doubles/model.ts'
import type { WireRequest } from '../doubles/wire.ts'
import { type Document, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'

const both = ['agents_list', 'session_status']

/** Webhook runs may use only one of the two tools. */
const tools = { allow: both, byOrigin: { hook: { deny: ['agents_list'] } } }

const offered = ({ body }: WireRequest): string[] =>
  ((body['tools'] ?? []) as { function: { name: string } }[]).map(({ function: { name } }) => name).toSorted()

const start = (model: ModelServer, changes: Document = {}, dir = temporaryFolder()) =>
  startGateway(
    {
      providers: model.providers,
      gateway: { drainSeconds: 0 },
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      tools,
      ...changes,
    },
    dir,
  )

async function startWithChat(
  model: ModelServer,
  { settings, ...changes }: Document,
): Promise<Chat & Pick<RunningGateway, 'post'>> {
  const [chat, dir] = [await startChat(), temporaryFolder()]
  const { post } = await start(
    model,
    { ...changes, ...chat.config(dir, { 'chat-native': { allowFrom: ['*'], ...(settings as object) } }) },
    dir,
  )
  return { ...chat, post }
}

describe('a turn that a webhook started', () => {
  it('is offered fewer tools, and cannot call the others', async () => {
    const model = await startModel()
    model.script({ tool: 'agents_list', args: {} }, { tool: 'session_status', args: {} }, { text: 'Done.' })
    const { post } = await start(model)
    const { body } = await post(
      '/hooks/agent',
      { message: 'List the agents.', deliver: false, wakeMode: 'next-heartbeat' },
      { prefer: 'wait=20' },
    )
    expect([body.status, body.reply]).toEqual(['succeeded', 'Done.'])
    expect(offered(await model.request(0))).toEqual(['session_status'])
    const answers = messagesOf(await model.request(2)).flatMap(({ role, content }) =>
      role === 'tool' ? [content] : [],
    )
    expect(answers).toEqual([
      expect.stringContaining('There is no tool with this name'),
      expect.stringContaining('waitingEvents'),
    ])
  })

  it('includes a heartbeat that reads its event', async () => {
    const model = await startModel()
    model.script({ text: 'HEARTBEAT_OK' })
    const { post } = await start(model)
    await post('/hooks/wake', { text: 'Please list the agents.' })
    expect(offered(await model.request(0))).toEqual(['session_status'])
  })

  it('may have an allow list of its own', async () => {
    const model = await startModel()
    model.script({ text: 'Done.' })
    const { post } = await start(model, { tools: { ...tools, byOrigin: { hook: { allow: ['agents_list'] } } } })
    await post('/hooks/agent', { message: 'hi', deliver: false, wakeMode: 'next-heartbeat' }, { prefer: 'wait=20' })
    expect(offered(await model.request(0))).toEqual(['agents_list'])
  })
})

describe('a turn that no webhook started', () => {
  it('is offered every configured tool in a heartbeat that reads notes', async () => {
    const model = await startModel()
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const dir = temporaryFolder()
    const workspace = join(dir, 'state', 'workspaces', 'main')
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'HEARTBEAT.md'), 'Look around.')
    await start(model, { agents: { defaults: { model: 'double/m', heartbeat: { every: '1s' } } } }, dir)
    expect(offered(await model.request(0))).toEqual(both)
  })

  it('is offered fewer tools while it renders webhook events, and all in the next turn', async () => {
    const model = await startModel()
    model.script({ text: 'Hello.' }, { text: 'Hello again.' })
    const chat = await startWithChat(model, {})
    await chat.post('/hooks/wake', { text: 'The build has failed.', mode: 'next-heartbeat' })
    await chat.say({ text: 'Hi.' })
    expect([offered(await model.request(0)), await model.prompt(0)]).toEqual([
      ['session_status'],
      expect.stringContaining('The build has failed.'),
    ])
    await chat.say({ text: 'Hi again.' })
    expect(offered(await model.request(1))).toEqual(both)
    await chat.holds(2)
  })
})

describe('a turn', () => {
  it('in a group is offered the tools of the group', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Hello.' })
    const settings = { groups: { Ops: { tools: { deny: ['session_status'] } }, '*': {} } }
    const chat = await startWithChat(model, { settings })
    await chat.say({ text: 'Hi.', group: 'group', mentioned: true, to: 'ops' })
    await chat.holds(1)
    await chat.say({ text: 'Hi.', group: 'group', mentioned: true, to: 'others' })
    expect([offered(await model.request(0)), offered(await model.request(1))]).toEqual([['agents_list'], both])
    await chat.holds(2)
  })

  it('is offered the tools for its own model, not for the default model', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Done.' })
    const { post } = await start(model, {
      tools: {
        allow: both,
        byProvider: { 'double/m': { deny: ['session_status'] }, double: { allow: ['session_status'] } },
      },
    })
    const run = (fields: object) =>
      post(
        '/hooks/agent',
        { message: 'hi', deliver: false, wakeMode: 'next-heartbeat', ...fields },
        { prefer: 'wait=20' },
      )
    await run({})
    await run({ model: 'double/other' })
    expect([offered(await model.request(0)), offered(await model.request(1))]).toEqual([
      ['agents_list'],
      ['session_status'],
    ])
  })

  it('of an agent is offered the tools of that agent', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Done.' })
    const agents = {
      defaults: { model: 'double/m', heartbeat: { every: 0 } },
      main: {},
      quiet: { tools: { allow: [] } },
    }
    const { post } = await start(model, { agents, tools: { allow: both } })
    await post(
      '/hooks/agent',
      { message: 'hi', agentId: 'quiet', deliver: false, wakeMode: 'next-heartbeat' },
      { prefer: 'wait=20' },
    )
    expect(offered(await model.request(0))).toEqual([])
  })
})
