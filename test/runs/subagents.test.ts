// Tests runs that tools start: subagents and messages to sessions, their limits and their summaries.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ModelServer, startModel } from '../doubles/model.ts'
import { type Document, gatewayToken, hookToken, temporaryFolder } from '../helpers.ts'
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

/** Waits until `count` runs of this kind, or of those with these names, have ended, and returns them. */
async function ended(
  { get }: ToolGateway,
  { kind, names }: { kind: string; names?: string[] },
  count: number,
): Promise<Run[]> {
  const list = async (): Promise<Run[]> => (await get('/api/runs?limit=200')).body.items.filter(isOwn)
  const isOwn = (run: Run) => run.kind === kind && (names === undefined || names.includes(run.name ?? ''))
  const hasEnded = ({ status }: Run) => status !== 'queued' && status !== 'running'
  await expect.poll(async () => (await list()).filter(hasEnded).length, { timeout: 10_000 }).toBe(count)
  return await list()
}

/** Waits until the one subagent of this name has ended, and returns its run. */
async function endedSubagent(gateway: ToolGateway, name: string): Promise<Run> {
  const [run, ...others] = await ended(gateway, { kind: 'subagent', names: [name] }, 1)
  expect(others).toEqual([])
  return run!
}

/** Creates a workspace with a readable file `x.txt` for each agent. */
function folderWithFile(): string {
  const dir = temporaryFolder()
  for (const agent of ['main', 'other']) {
    const workspace = join(dir, 'state', 'workspaces', agent)
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'x.txt'), 'canary')
  }
  return dir
}

const readFile = '/read {"path":"x.txt"}'

/**
 * HTTP clients may start runs here, but neither they nor the agent `main` may read files. Each of the agents with a
 * model has one that only its test scripts.
 */
const lenient = share(async () => {
  const models = { counting: await startModel(), hooked: await startModel(), stuck: await startModel() }
  const withModel = (name: keyof typeof models): Document => ({ model: `${name}/m`, heartbeat: {} })
  const gateway = await startTools(
    {
      gateway: { ...lenientGateway, tools: { ...lenientGateway.tools, deny: ['read'] } },
      providers: Object.fromEntries(
        Object.entries(models).map(([name, { providers }]: [string, ModelServer]) => [name, providers['double']]),
      ),
      agents: {
        ...quiet,
        main: { default: true, tools: { deny: ['read'] } },
        other: {},
        counting: withModel('counting'),
        answering: {},
        hooked: withModel('hooked'),
        slow: withModel('stuck'),
        stuck: withModel('stuck'),
      },
      tools: { subagents: { maxActive: 3 } },
      hooks: { enabled: true, token: hookToken, defaultSessionKey: 'main' },
    },
    folderWithFile(),
  )
  return { ...gateway, models }
})

const closed = { tools: { deny: ['read'] } }

/**
 * Here agents may read files, except in closed groups, and HTTP clients may start no runs. A test that asks an agent
 * does so in a group of its own.
 */
const strict = share(() =>
  startTools(
    {
      agents: { ...quiet, main: { name: 'Ada' }, other: { default: true } },
      groups: { 'closed-subagent': closed, 'closed-schedule': closed, '*': {} },
      tools: { subagents: { tools: { allow: ['sessions_spawn', 'read', 'write'] }, maxDepth: 1 } },
    },
    folderWithFile(),
  ),
)

describe('a subagent', () => {
  it('works in a session of its own, and its summary goes to the session that started it', async () => {
    const gateway = lenient()
    const model = gateway.models.counting
    model.script({ text: 'Ten.' }, { text: 'HEARTBEAT_OK' })
    const task = { task: 'Count to ten.', name: 'counting' }
    const { runId, sessionKey } = await gateway.result('sessions_spawn', task, 'agent:counting:main')
    expect(sessionKey).toMatch(/^agent:counting:subagent:[\w-]{36}$/)
    const summary = await model.prompt(1)
    expect(summary).toContain('Subagent counting: Ten.\n(The reply was not delivered: none was asked for.)')
    expect(summary).not.toContain('OUTSIDE TEXT')
    expect(await endedSubagent(gateway, 'counting')).toMatchObject({
      id: runId,
      sessionKey,
      reply: 'Ten.',
      origin: { kind: 'subagent', name: 'agent:counting:main', trusted: true, depth: 1 },
    })
    const { items } = await gateway.result('sessions_history', { sessionKey })
    expect(items).toMatchObject([
      { role: 'user', text: 'Count to ten.', runId },
      { role: 'assistant', text: 'Ten.' },
    ])
  })

  it('can be started by an agent in its turn', async () => {
    const gateway = lenient()
    expect(await gateway.askAgent(spawn('Look around.', { name: 'looking' }), 'looking')).toContain(
      'agent:main:subagent:',
    )
    expect((await endedSubagent(gateway, 'looking')).reply).toContain('Received: Look around.')
  })

  it('may start others only up to maxDepth', async () => {
    const shallow = strict()
    await shallow.askAgent(spawn(spawn('Deeper.'), { name: 'shallow' }), 'shallow')
    expect((await endedSubagent(shallow, 'shallow')).reply).toContain(
      'Subagents may be nested 1 deep (tools.subagents.maxDepth)',
    )
    const deep = await startTools({
      agents: quiet,
      tools: { subagents: { tools: { allow: ['sessions_spawn'] }, maxDepth: 2 } },
    })
    await deep.askAgent(spawn(spawn(spawn('Too deep.'))))
    const runs = await ended(deep, { kind: 'subagent' }, 2)
    expect(runs.map(({ origin }) => origin.depth).toSorted((a = 0, b = 0) => a - b)).toEqual([1, 2])
    const none = await startTools({ gateway: lenientGateway, tools: { subagents: { maxDepth: 0 } } })
    expect((await none.call('sessions_spawn', { task: 'x' })).status).toBe(400)
  })

  it('counts towards maxActive, even when many start at the same time', async () => {
    const gateway = lenient()
    gateway.models.stuck.otherwise({ hang: true })
    const call = () => gateway.call('sessions_spawn', { task: 'x', name: 'stuck' }, 'agent:stuck:main')
    const calls = await Promise.all(Array.from({ length: 20 }, call))
    const started = calls.filter(({ status }) => status === 200)
    expect(started).toHaveLength(3)
    expect(calls.find(({ status }) => status !== 200)).toMatchObject(
      refused(expect.stringContaining('may have 3 unfinished runs')),
    )
    for (const { body } of started)
      await gateway.post(`/api/runs/${body.result.runId}/cancel`, {}, { authorization: `Bearer ${gatewayToken}` })
    await ended(gateway, { kind: 'subagent', names: ['stuck'] }, 3)
    await expect.poll(async () => (await call()).status).toBe(200)
  })

  it('counts towards maxActive after a restart, too', async () => {
    const model = await startModel()
    model.otherwise({ hang: true })
    const [dir, changes] = [
      temporaryFolder(),
      {
        gateway: lenientGateway,
        providers: model.providers,
        agents: { defaults: { ...quiet.defaults, model: 'double/m' } },
        tools: { subagents: { maxActive: 1 } },
      },
    ]
    const before = await startTools(changes, dir)
    expect((await before.call('sessions_spawn', { task: 'x' })).status).toBe(200)
    await before.gateway.close()
    const { call } = await startTools(changes, dir)
    expect(await call('sessions_spawn', { task: 'x' })).toMatchObject(
      refused(expect.stringContaining('may have 1 unfinished runs')),
    )
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
    const { call } = strict()
    expect((await call('sessions_spawn', { task: 'x' })).status).toBe(404)
    expect((await call('sessions_send', { sessionKey: 'main', message: 'x' })).status).toBe(404)
  })
})

describe('a run that a tool started', () => {
  it('is restricted like the webhook run that started it, and its task is wrapped', async () => {
    const gateway = strict()
    await gateway.hook(spawn('/write {"path":"x.txt","text":"mine"}', { name: 'writing' }))
    const run = await endedSubagent(gateway, 'writing')
    expect(run).toMatchObject({
      origin: { trusted: false, viaHook: true },
      reply: expect.not.stringContaining('returned'),
    })
    const { items } = await gateway.result('sessions_history', { sessionKey: run.sessionKey })
    expect(items[0].text).toMatch(/^A session that a webhook started asks for a reply to this:\n<<<OUTSIDE TEXT/)
  })

  it('has a wrapped run summary when a webhook started it', async () => {
    const gateway = lenient()
    const model = gateway.models.hooked
    model.script({ tool: 'sessions_spawn', args: { task: 'x' } }, { text: 'Started.' })
    model.otherwise({ text: 'HEARTBEAT_OK' })
    await gateway.hook('Do it.', { agentId: 'hooked' })
    await expect
      .poll(async () =>
        (await Promise.all(model.requests.map((_, n) => model.prompt(n)))).find((prompt) =>
          prompt.includes('Subagent: HEARTBEAT_OK'),
        ),
      )
      .toMatch(/<<<OUTSIDE TEXT[^]*Subagent: /)
  })

  it('may use only the tools that its initiator may use: an agent, or an HTTP client', async () => {
    const restricted = lenient()
    await restricted.askAgent(spawn(readFile, { agentId: 'other', name: 'of the agent' }), 'restricted')
    expect((await endedSubagent(restricted, 'of the agent')).reply).not.toContain('canary')
    await restricted.result('sessions_spawn', { task: readFile, name: 'of the client' }, 'agent:other:main')
    expect((await endedSubagent(restricted, 'of the client')).reply).not.toContain('canary')

    const unrestricted = strict()
    await unrestricted.askAgent(spawn(readFile, { agentId: 'main', name: 'unrestricted' }), 'unrestricted')
    expect((await endedSubagent(unrestricted, 'unrestricted')).reply).toContain('canary')
  })

  it.each([
    ['subagent', (name: string) => spawn(readFile, { name })],
    ['schedule', (name: string) => `/cron ${json({ action: 'add', name, message: readFile, at: '1s' })}`],
  ])('may use only the tools of the group that asked for it: a %s', async (kind, textOf) => {
    const gateway = strict()
    const groups = [`closed-${kind}`, `open-${kind}`]
    for (const group of groups) await gateway.askAgent(textOf(group), group)
    const runs = await ended(gateway, { kind, names: groups }, 2)
    const [closed, open] = groups.map((group) => runs.find(({ name }) => name === group)!.reply)
    expect(closed).not.toContain('canary')
    expect(open).toContain('canary')
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
    const runs = await ended(gateway, { kind: 'chat' }, 6)
    expect(runs.some(({ reply }) => reply?.includes('handed on 6 times'))).toBe(true)
  })
})

describe('a message to a session', () => {
  it('is answered there while its sender waits', async () => {
    const gateway = lenient()
    const to = { sessionKey: 'agent:answering:main' }
    const answer = await gateway.result('sessions_send', { ...to, message: 'How are you?' })
    expect(answer).toMatchObject({
      ...to,
      status: 'succeeded',
      reply: expect.stringContaining('How are you?'),
    })
    expect((await gateway.get(`/runs/${answer.runId}`)).body).toMatchObject({
      kind: 'chat',
      origin: { kind: 'chat', name: 'agent:main:main' },
    })
    expect(await gateway.result('sessions_send', { ...to, message: 'Bye.', waitSeconds: 0 })).toMatchObject({
      status: 'queued',
    })
  })

  it('to its own session starts after the current run', async () => {
    const gateway = strict()
    const message = { sessionKey: 'agent:other:chat-native:group:later', message: 'Later.' }
    expect(await gateway.askAgent(`/sessions_send ${json(message)}`, 'later')).toContain('"status":"queued"')
    expect((await ended(gateway, { kind: 'chat' }, 1))[0]!.reply).toContain('Later.')
  })

  it('continues when its reply takes longer than the sender waits', async () => {
    const { models, result } = lenient()
    models.stuck.otherwise({ hang: true })
    const message = { sessionKey: 'agent:slow:main', message: 'x', waitSeconds: 0.2 }
    expect((await result('sessions_send', message, 'agent:slow:main')).status).toMatch(/queued|running/)
  })

  it('is refused for a session that does not exist', async () => {
    const { call } = lenient()
    const answer = await call('sessions_send', { sessionKey: 'agent:main:nowhere', message: 'x' })
    expect(answer).toMatchObject(refused('There is no session with this sessionKey; sessions_list lists the sessions.'))
  })
})

describe('the agents', () => {
  it('are listed', async () => {
    const { result } = strict()
    expect((await result('agents_list')).items).toEqual([
      { id: 'main', name: 'Ada', default: false, model: 'builtin/rules', mainSession: 'agent:main:main' },
      { id: 'other', name: 'other', default: true, model: 'builtin/rules', mainSession: 'agent:other:main' },
    ])
  })
})
