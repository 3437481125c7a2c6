// Tests which tools a turn is offered, depending on its origin, its group, its agent and its model.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { messagesOf, type ModelServer, startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer, WireRequest } from '../doubles/wire.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const both = ['agents_list', 'session_status']

/** Webhook runs may use only one of the two tools. */
const tools = { allow: both, byOrigin: { hook: { deny: ['agents_list'] } } }

const offered = ({ body }: WireRequest): string[] =>
  ((body['tools'] ?? []) as { function: { name: string } }[]).map(({ function: { name } }) => name).toSorted()

const start = (providers: Document, changes: Document = {}, dir = temporaryFolder()) =>
  startGateway(
    {
      providers,
      gateway: { drainSeconds: 0 },
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      tools,
      ...changes,
    },
    dir,
  )

/** The agent with notes has a model of its own. Each test scripts what the model of the other agents answers. */
const shared = share(async () => {
  const [model, noted, chat, dir] = [await startModel(), await startModel(), await startChat(), temporaryFolder()]
  noted.otherwise({ text: 'HEARTBEAT_OK' })
  const workspace = join(dir, 'state', 'workspaces', 'noted')
  mkdirSync(workspace, { recursive: true })
  writeFileSync(join(workspace, 'HEARTBEAT.md'), 'Look around.')
  const agents = {
    defaults: { model: 'double/m', heartbeat: { every: 0 } },
    main: { default: true },
    quiet: { tools: { allow: [] } },
    noted: { model: 'noted/m', heartbeat: { every: '1s' } },
  }
  const groups = { Ops: { tools: { deny: ['session_status'] } }, '*': {} }
  const plugged = chat.config(dir, { 'chat-native': { allowFrom: ['ann'], groups } })
  const providers = { ...model.providers, noted: noted.providers['double'] }
  return { model, noted, chat, ...(await start(providers, { agents, ...plugged }, dir)) }
})

/** Scripts what the model answers next. Returns its requests from there on. */
function script(...answers: ModelAnswer[]): Pick<ModelServer, 'prompt' | 'request'> {
  const { model } = shared()
  const before = model.requests.length
  model.script(...answers)
  return { prompt: (index) => model.prompt(before + index), request: (index) => model.request(before + index) }
}

const message = (fields: Document = {}) => ({ message: 'hi', deliver: false, wakeMode: 'next-heartbeat', ...fields })
const wait = { prefer: 'wait=20' }

describe('a turn that a webhook started', () => {
  it('is offered fewer tools, and cannot call the others', async () => {
    const model = script({ tool: 'agents_list', args: {} }, { tool: 'session_status', args: {} }, { text: 'Done.' })
    const { body } = await shared().post('/hooks/agent', message({ message: 'List the agents.' }), wait)
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
    const model = script({ text: 'HEARTBEAT_OK' })
    await shared().post('/hooks/wake', { text: 'Please list the agents.' })
    expect(offered(await model.request(0))).toEqual(['session_status'])
  })

  it('may have an allow list of its own', async () => {
    const model = await startModel()
    model.script({ text: 'Done.' })
    const { post } = await start(model.providers, {
      tools: { ...tools, byOrigin: { hook: { allow: ['agents_list'] } } },
    })
    await post('/hooks/agent', message(), wait)
    expect(offered(await model.request(0))).toEqual(['agents_list'])
  })
})

describe('a turn that no webhook started', () => {
  it('is offered every configured tool in a heartbeat that reads notes', async () => {
    expect(offered(await shared().noted.request(0))).toEqual(both)
  })

  it('is offered fewer tools while it sees webhook events, and all in a new conversation', async () => {
    const { chat, post } = shared()
    const model = script({ text: 'Hello.' }, { text: 'Hello again.' }, { text: 'Hello anew.' })
    await post('/hooks/wake', { text: 'The build has failed.', mode: 'next-heartbeat' })
    await chat.say({ text: 'Hi.' })
    expect([offered(await model.request(0)), await model.prompt(0)]).toEqual([
      ['session_status'],
      expect.stringContaining('The build has failed.'),
    ])
    await chat.say({ text: 'Hi again.' })
    expect(offered(await model.request(1))).toEqual(['session_status'])
    await chat.say({ text: '/new' })
    await chat.say({ text: 'Hi.' })
    expect(offered(await model.request(2))).toEqual(both)
  })
})

describe('a turn', () => {
  it('in a group is offered the tools of the group', async () => {
    const { chat } = shared()
    const model = script({ text: 'Hello.' }, { text: 'Hello.' })
    await chat.say({ text: 'Hi.', group: 'group', mentioned: true, to: 'ops' })
    await model.request(0)
    await chat.say({ text: 'Hi.', group: 'group', mentioned: true, to: 'others' })
    expect([offered(await model.request(0)), offered(await model.request(1))]).toEqual([['agents_list'], both])
  })

  it('is offered the tools for its own model, not for the default model', async () => {
    const model = await startModel()
    model.otherwise({ text: 'Done.' })
    const { post } = await start(model.providers, {
      tools: {
        allow: both,
        byProvider: { 'double/m': { deny: ['session_status'] }, double: { allow: ['session_status'] } },
      },
    })
    await post('/hooks/agent', message(), wait)
    await post('/hooks/agent', message({ model: 'double/other' }), wait)
    expect([offered(await model.request(0)), offered(await model.request(1))]).toEqual([
      ['agents_list'],
      ['session_status'],
    ])
  })

  it('of an agent is offered the tools of that agent', async () => {
    const model = script({ text: 'Done.' })
    await shared().post('/hooks/agent', message({ agentId: 'quiet' }), wait)
    expect(offered(await model.request(0))).toEqual([])
  })
})
