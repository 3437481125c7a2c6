// Tests runs that tools start: subagents and messages to sessions, their limits and their summaries.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { refused, startTools, type ToolGateway } from '../tools/calls.ts'

const lenientGateway = {
  port: 0,
  auth: { token: gatewayToken },
  tools: { allow: ['sessions_spawn', 'sessions_send'] },
  drainSeconds: 0,
}
const quiet = { defaults: { heartbeat: { every: 0 } } }
const json = (value: unknown): string => JSON.stringify(value)
const spawn = (task: string, more: object = {}): string => `/sessions_spawn ${json({ task, ...more })}`

interface Run {
  id: string
  kind: string
  sessionKey: string
  status: string
  reply?: string
  name?: string
  origin: { kind: string; name: string; trusted: boolean; viaHook?: boolean; depth?: number; initiators?: object[] }
}

const runsOf = async ({ get }: ToolGateway, kind: string): Promise<Run[]> =>
  (await get('/api/runs?limit=200')).body.items.filter((run: Run) => run.kind === kind)

/** Waits until `count` runs of a kind have ended, and returns all runs of the kind. */
async function ended(gateway: ToolGateway, kind: string, count: number): Promise<Run[]> {
  await expect
    .poll(
      async () =>
        (await runsOf(gateway, kind)).filter(({ status }) => status !== 'queued' && status !== 'running').length,
      { timeout: 10_000 },
    )
    .toBe(count)
  return await runsOf(gateway, kind)
}

/** Creates a workspace with a readable file `x.txt` for each agent. */
function folderWithFile(): string {
  const dir = temporaryFolder()
  for (const agent of ['main', 'other']) {
    mkdirSync(join(dir, 'state', 'workspaces', agent), { recursive: true })
    writeFileSync(join(dir, 'state', 'workspaces', agent, 'x.txt'), 'canary')
  }
  return dir
}

const readFile = '/read {"path":"x.txt"}'

/** For tests that start no runs. */
const lenient = share(() => startTools({ gateway: lenientGateway, agents: quiet }))

describe('a subagent', () => {
  it('works in a session of its own, and its summary goes to the session that started it', async () => {
    const model = await startModel()
    const gateway = await startTools({
      gateway: lenientGateway,
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    })
    model.script({ text: 'Ten.' }, { text: 'HEARTBEAT_OK' })
    const { runId, sessionKey } = await gateway.result('sessions_spawn', { task: 'Count to ten.', name: 'counting' })
    expect(sessionKey).toMatch(/^agent:main:subagent:[\w-]{36}$/)
    const summary = await model.prompt(1)
    expect(summary).toContain('Subagent counting: Ten.\n(The reply was not delivered: none was asked for.)')
    expect(summary).not.toContain('OUTSIDE TEXT')
    const [run] = await ended(gateway, 'subagent', 1)
    expect(run).toMatchObject({
      id: runId,
      sessionKey,
      reply: 'Ten.',
      origin: { kind: 'subagent', name: 'agent:main:main', trusted: true, depth: 1 },
    })
    const { items } = await gateway.result('sessions_history', { sessionKey })
    expect(items).toMatchObject([
      { role: 'user', text: 'Count to ten.', runId },
      { role: 'assistant', text: 'Ten.' },
    ])
  })

  it('can be started by an agent in its turn', async () => {
    const gateway = await startTools({ agents: quiet })
    expect(await gateway.askAgent(spawn('Look around.'))).toContain('agent:main:subagent:')
    const [run] = await ended(gateway, 'subagent', 1)
    expect(run!.reply).toContain('Received: Look around.')
  })

  it('may start others only up to maxDepth', async () => {
    const tools = (maxDepth: number) => ({ subagents: { tools: { allow: ['sessions_spawn'] }, maxDepth } })
    const shallow = await startTools({ agents: quiet, tools: tools(1) })
    await shallow.askAgent(spawn(spawn('Deeper.')))
    expect((await ended(shallow, 'subagent', 1))[0]!.reply).toContain(
      'Subagents may be nested 1 deep (tools.subagents.maxDepth)',
    )
    const deep = await startTools({ agents: quiet, tools: tools(2) })
    await deep.askAgent(spawn(spawn(spawn('Too deep.'))))
    const runs = await ended(deep, 'subagent', 2)
    expect(runs.map(({ origin }) => origin.depth).toSorted((a = 0, b = 0) => a - b)).toEqual([1, 2])
    const none = await startTools({ gateway: lenientGateway, tools: { subagents: { maxDepth: 0 } } })
    expect((await none.call('sessions_spawn', { task: 'x' })).status).toBe(400)
  })

  it('counts towards maxActive, even when many start at the same time', async () => {
    const model = await startModel()
    model.otherwise({ hang: true })
    const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 } } }
    const gateway = await startTools({
      gateway: lenientGateway,
      agents,
      providers: model.providers,
      tools: { subagents: { maxActive: 3 } },
    })
    const calls = await Promise.all(Array.from({ length: 20 }, () => gateway.call('sessions_spawn', { task: 'x' })))
    expect(calls.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(calls.find(({ status }) => status !== 200)).toMatchObject(
      refused(expect.stringContaining('has 3 unfinished runs of its own')),
    )
    for (const { id } of await runsOf(gateway, 'subagent'))
      await gateway.post(`/api/runs/${id}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })
    await ended(gateway, 'subagent', 3)
    await expect.poll(async () => (await gateway.call('sessions_spawn', { task: 'x' })).status).toBe(200)
  })

  it.each([
    [{ task: 'x', agentId: 'nobody' }, /agentId is not a configured agent/],
    [{ task: ' ' }, /args.task must not be blank/],
    [{ task: 'x', timeoutSeconds: 100_000 }, /args.timeoutSeconds/],
  ])('is not started with the arguments %o', async (args, sentence) => {
    const { call } = lenient()
    expect(await call('sessions_spawn', args)).toMatchObject(refused(expect.stringMatching(sentence)))
  })

  it('is not started over HTTP unless gateway.tools allows it', async () => {
    const { call } = await startTools()
    expect((await call('sessions_spawn', { task: 'x' })).status).toBe(404)
    expect((await call('sessions_send', { sessionKey: 'main', message: 'x' })).status).toBe(404)
  })
})

describe('a run that a tool started', () => {
  it('is restricted like the webhook run that started it, and its task is wrapped', async () => {
    const gateway = await startTools({ agents: quiet })
    await gateway.hook(spawn('/write {"path":"x.txt","text":"mine"}'))
    const [run] = await ended(gateway, 'subagent', 1)
    expect(run).toMatchObject({
      origin: { trusted: false, viaHook: true },
      reply: expect.not.stringContaining('returned'),
    })
    const { items } = await gateway.result('sessions_history', { sessionKey: run!.sessionKey })
    expect(items[0].text).toMatch(/^A session that a webhook started asks for a reply to this:\n<<<OUTSIDE TEXT/)
  })

  it('has a wrapped run summary when a webhook started it', async () => {
    const model = await startModel()
    const gateway = await startTools({
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      providers: model.providers,
      hooks: { enabled: true, token: 'hook-token-of-the-tests-0123456789', defaultSessionKey: 'main' },
    })
    model.script({ tool: 'sessions_spawn', args: { task: 'x' } }, { text: 'Started.' })
    model.otherwise({ text: 'HEARTBEAT_OK' })
    await gateway.hook('Do it.')
    await expect
      .poll(async () =>
        (await Promise.all(model.requests.map((_, n) => model.prompt(n)))).find((prompt) =>
          prompt.includes('Subagent: HEARTBEAT_OK'),
        ),
      )
      .toMatch(/<<<OUTSIDE TEXT[^]*Subagent: /)
  })

  it('may use only the tools that its initiator may use: an agent, or an HTTP client', async () => {
    const agents = { ...quiet, main: { tools: { deny: ['read'] } }, other: {} }
    const restrictedAgent = await startTools({ agents }, folderWithFile())
    await restrictedAgent.askAgent(spawn(readFile, { agentId: 'other' }))
    expect((await ended(restrictedAgent, 'subagent', 1))[0]!.reply).not.toContain('canary')

    const restrictedHttp = await startTools(
      { agents: quiet, gateway: { ...lenientGateway, tools: { ...lenientGateway.tools, deny: ['read'] } } },
      folderWithFile(),
    )
    await restrictedHttp.result('sessions_spawn', { task: readFile })
    expect((await ended(restrictedHttp, 'subagent', 1))[0]!.reply).not.toContain('canary')

    const unrestricted = await startTools({ agents: { ...quiet, main: {}, other: {} } }, folderWithFile())
    await unrestricted.askAgent(spawn(readFile, { agentId: 'other' }))
    expect((await ended(unrestricted, 'subagent', 1))[0]!.reply).toContain('canary')
  })

  it.each([
    ['subagent', (name: string) => spawn(readFile, { name })],
    ['schedule', (name: string) => `/cron ${json({ action: 'add', name, message: readFile, at: '1s' })}`],
  ])('may use only the tools of the group that asked for it: a %s', async (kind, textOf) => {
    const groups = { closed: { tools: { deny: ['read'] } }, open: {} }
    const gateway = await startTools({ agents: quiet, groups }, folderWithFile())
    for (const to of ['closed', 'open'])
      await gateway.chat.say({ text: textOf(to), group: 'group', mentioned: true, to })
    const runs = await ended(gateway, kind, 2)
    const replyTo = (group: string) => runs.find(({ name }) => name === group)!.reply
    expect(replyTo('closed')).not.toContain('canary')
    expect(replyTo('open')).toContain('canary')
  })

  it('is refused after six hand-offs between sessions that write to each other', async () => {
    const gateway = await startTools({ agents: quiet })
    await gateway.hook('Hello.')
    const keys = (await gateway.result('sessions_list')).items.map(({ key }: { key: string }) => key)
    const pingPong = Array.from({ length: 12 }).reduce<string>(
      (message, _, n) => `/sessions_send ${json({ sessionKey: n % 2 ? 'main' : keys[0], message, waitSeconds: 0 })}`,
      'End.',
    )
    await gateway.askAgent(pingPong)
    const runs = await ended(gateway, 'chat', 6)
    expect(runs.some(({ reply }) => reply?.includes('handed on 6 times'))).toBe(true)
  })
})

describe('a message to a session', () => {
  it('is answered there while its sender waits', async () => {
    const gateway = await startTools({ gateway: lenientGateway, agents: quiet })
    const answer = await gateway.result('sessions_send', { sessionKey: 'main', message: 'How are you?' })
    expect(answer).toMatchObject({
      sessionKey: 'agent:main:main',
      status: 'succeeded',
      reply: expect.stringContaining('How are you?'),
    })
    expect((await runsOf(gateway, 'chat'))[0]).toMatchObject({
      id: answer.runId,
      origin: { kind: 'chat', name: 'agent:main:main' },
    })
    expect(
      await gateway.result('sessions_send', { sessionKey: 'main', message: 'Bye.', waitSeconds: 0 }),
    ).toMatchObject({ status: 'queued' })
  })

  it('to its own session starts after the current run', async () => {
    const gateway = await startTools({ agents: quiet })
    expect(await gateway.askAgent(`/sessions_send ${json({ sessionKey: 'main', message: 'Later.' })}`)).toContain(
      '"status":"queued"',
    )
    expect((await ended(gateway, 'chat', 1))[0]!.reply).toContain('Later.')
  })

  it('continues when its reply takes longer than the sender waits', async () => {
    const model = await startModel()
    model.otherwise({ hang: true })
    const gateway = await startTools({
      gateway: lenientGateway,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      providers: model.providers,
    })
    expect(
      (await gateway.result('sessions_send', { sessionKey: 'main', message: 'x', waitSeconds: 0.2 })).status,
    ).toMatch(/queued|running/)
  })

  it('is refused for a session that does not exist', async () => {
    const { call } = lenient()
    const answer = await call('sessions_send', { sessionKey: 'agent:main:nowhere', message: 'x' })
    expect(answer).toMatchObject(refused('There is no session with this sessionKey; sessions_list lists the sessions.'))
  })
})

describe('the agents', () => {
  it('are listed', async () => {
    const { result } = await startTools({ agents: { ...quiet, main: { name: 'Ada' }, other: { default: true } } })
    expect((await result('agents_list')).items).toEqual([
      { id: 'main', name: 'Ada', default: false, model: 'builtin/rules', mainSession: 'agent:main:main' },
      { id: 'other', name: 'other', default: true, model: 'builtin/rules', mainSession: 'agent:other:main' },
    ])
  })
})
