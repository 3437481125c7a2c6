// Tests the commands `tail` and `chat` as child processes, against a running gateway.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { program } from '../program.ts'
import { closeAtEnd, share } from '../share.ts'
import { run } from './command-line.ts'
import { startModel } from '../doubles/model.ts'

const still = { wakeMode: 'next-heartbeat', deliver: false }
const quiet = { agents: { defaults: { heartbeat: { every: 0 } } } }

const shared = share(async () => {
  const broken = { match: { path: 'broken' }, transform: { module: 'missing.ts' } }
  const gateway = await startGateway({ ...quiet, hooks: { mappings: [broken] } })
  const env = { SVC_GATEWAY_URL: gateway.url, SVC_GATEWAY_TOKEN: gatewayToken }
  const folder = temporaryFolder()
  return { ...gateway, cli: (args: string[], input = '') => run(folder, args, { env, input }) }
})

/** Starts a command and returns its lines as they come. */
function follow(url: string, ...args: string[]) {
  const env = { ...process.env, SVC_GATEWAY_URL: url, SVC_GATEWAY_TOKEN: gatewayToken }
  const child = spawn(process.execPath, [program, ...args], { cwd: temporaryFolder(), env })
  const exited = once(child, 'exit')
  closeAtEnd(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const notices = createInterface({ input: child.stderr })[Symbol.asyncIterator]()
  const text = async (from: typeof lines) => (await from.next()).value as string
  return { child, exited, line: () => text(lines), notice: () => text(notices) }
}

describe('svc-gateway tail', () => {
  it('prints one line for each record of the topics and the hook', async () => {
    const { url, post } = shared()
    const tail = follow(url, 'tail', '--topic', 'request', '--topic', 'run', '--hook', 'agent', '--limit', '4')
    expect(await tail.notice()).toBe('Connected; Ctrl-C ends.')
    await post('/hooks/wake', { text: 'Not shown.', mode: 'next-heartbeat' })
    const { body } = await post('/hooks/agent', { message: 'Say \u001b[31mhello.', ...still }, { prefer: 'wait=60' })
    const lines = [await tail.line(), await tail.line(), await tail.line(), await tail.line()]
    expect(lines).toContainEqual(expect.stringMatching(/^\d{4}-\S+Z  request  accepted   agent  \S+  1 run$/))
    expect(lines.at(-1)).toMatch(/^\d{4}-\S+Z  run {6}succeeded  agent  \S+  agent:main:\S+  Received: Say \\u001b/)
    expect(lines.filter((line) => line.includes(body.runId)).length).toBeGreaterThanOrEqual(2)
    expect(lines.join('')).not.toContain('Not shown.')
    expect(await tail.exited).toEqual([0, null])
  })

  it('prints each step of a run when it begins and when it has ended', async () => {
    const { url, post } = shared()
    const tail = follow(url, 'tail', '--topic', 'step', '--limit', '2')
    await tail.notice()
    const { body } = await post('/hooks/agent', { message: 'Say hello.', ...still }, { prefer: 'wait=60' })
    expect(await tail.line()).toMatch(`  step     running    ${body.runId}  model  running · builtin/rules`)
    expect(await tail.line()).toMatch(
      new RegExp(`  step {5}succeeded  ${body.runId}  model  \\d[\\d.]* m?s  builtin/rules · `),
    )
    expect(await tail.exited).toEqual([0, null])
  })

  it('selects by the level of the log, and prints JSON', async () => {
    const { url, post } = shared()
    const tail = follow(url, 'tail', '--level', 'warn', '--json', '--limit', '1', '--topic', 'log')
    await tail.notice()
    // The first failure is the sender's, and logged as information; the second is the gateway's.
    expect((await post('/hooks/agent', { message: 1 })).status).toBe(400)
    expect((await post('/hooks/broken', {})).status).toBe(500)
    expect(JSON.parse(await tail.line())).toMatchObject({
      topic: 'log',
      record: { level: expect.stringMatching(/^(warn|error)$/) },
    })
    expect(await tail.exited).toEqual([0, null])
  })

  it('connects again when the gateway is back', async () => {
    const first = await startGateway(quiet)
    const { port } = new URL(first.url)
    const tail = follow(first.url, 'tail', '--topic', 'request', '--limit', '1')
    expect(await tail.notice()).toBe('Connected; Ctrl-C ends.')
    await first.gateway.close()
    expect(await tail.notice()).toMatch(
      /^The connection was lost \(.+\); what happens until it is back is not shown\.$/,
    )
    const second = await startGateway({ ...quiet, gateway: { port: Number(port), auth: { token: gatewayToken } } })
    expect(await tail.notice()).toBe('Connected again.')
    await second.post('/hooks/agent', { message: 'Back.', ...still })
    expect(await tail.line()).toContain('accepted')
    expect(await tail.exited).toEqual([0, null])
  })

  it.each([
    [['--topic', 'runs'], 1, 'topics must be a list of these names: request, event, run, step, outbox, approval, log.'],
    [['--level', 'loud'], 1, "error: option '--level <level>' argument 'loud' is invalid."],
    [['--token', 'wrong'], 1, 'The gateway at '],
    [['--url', 'http://127.0.0.1:9'], 2, 'No gateway answers at http://127.0.0.1:9 (ECONNREFUSED)'],
  ])('rejects bad input: %j', async (args, code, message) => {
    const ended = await shared().cli(['tail', ...args])
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^${RegExp.escape(message)}.*\\n$`))
  })
})

describe('svc-gateway chat', () => {
  it('prints the reply to a message, an argument or a pipe, and continues the session', async () => {
    const { cli, get } = shared()
    const asked = await cli(['chat', 'Say hello.', '--session', 'tests'])
    expect(asked).toMatchObject({ code: 0, stderr: '' })
    expect(asked.stdout).toMatch(/^Received: Say hello\./)
    const piped = await cli(['chat', '--session', 'tests', '--json'], 'Say it\nagain.\n')
    expect(JSON.parse(piped.stdout)).toMatchObject({ status: 'succeeded', sessionKey: 'agent:main:tests' })
    expect((await get('/api/sessions/agent:main:tests')).body.transcript).toHaveLength(4)
  })

  it('prints the reply although a reload has closed its connection', async () => {
    const model = await startModel()
    const { url, gateway } = await startGateway({
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      providers: model.providers,
    })
    // Longer than a reload waits for the calls of a connection.
    model.script({ text: 'Ready.', pauseMs: 6_000 })
    const chat = follow(url, 'chat', 'Take your time.')
    await model.request(0)
    await gateway.reload()
    expect(await chat.line()).toBe('Ready.')
    expect(await chat.exited).toEqual([0, null])
  })

  it('cancels the turn with Ctrl-C', async () => {
    const model = await startModel()
    const { url, get } = await startGateway({
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      providers: model.providers,
    })
    model.script({ hang: true, text: 'One moment' })
    const chat = follow(url, 'chat', 'Wait forever.')
    const { abandoned } = await model.request(0)
    // The command knows the run when the first part of the reply has arrived.
    await once(chat.child.stdout, 'data')
    chat.child.kill('SIGINT')
    await abandoned
    expect(await chat.exited).toEqual([130, null])
    expect((await get('/api/runs')).body.items).toMatchObject([{ kind: 'chat', status: 'cancelled' }])
  })

  it.each([
    [['chat', ' '], 1, 'The message is empty; give it as an argument or on standard input.'],
    [['chat', 'x', 'y'], 1, 'error: too many arguments'],
    [['chat', 'x', '--url', 'http://127.0.0.1:9'], 2, 'No gateway answers at http://127.0.0.1:9 (ECONNREFUSED)'],
  ])('rejects bad input: %j', async (args, code, message) => {
    const ended = await shared().cli(args)
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^${RegExp.escape(message)}.*\\n$`))
  })
})
