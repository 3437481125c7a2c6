// Tests the commands `runs`, `usage`, `sessions` and `tools` against one running gateway.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { type Done, run } from './command-line.ts'
import { runHere } from './in-process.ts'

const still = { wakeMode: 'next-heartbeat', deliver: false }

const lines = (text: string) => text.split('\n').filter(Boolean)

/** The commands run in an empty folder: the address and the credential come from options or the environment. */
const shared = share(async () => {
  const gateway = await startGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: { defaultSessionKey: 'hook:tests' },
    tools: { deny: ['exec'] },
  })
  const folder = temporaryFolder()
  const env = { SVC_GATEWAY_URL: gateway.url, SVC_GATEWAY_TOKEN: gatewayToken }
  const cli = (...args: string[]): Promise<Done> => runHere(folder, args, { env })
  const cliWith = (input: string, ...args: string[]): Promise<Done> => run(folder, args, { env, input })
  const bare = (...args: string[]): Promise<Done> => run(folder, args)
  const work = async (message: string): Promise<string> =>
    (await gateway.post('/hooks/agent', { message, name: 'Tests', ...still }, { prefer: 'wait=60' })).body.runId
  return { ...gateway, cli, cliWith, bare, work }
})

describe('svc-gateway runs', () => {
  it('lists runs, and shows one with its reply', async () => {
    const { cli, work } = shared()
    const id = await work('Say \u001b[31mhello.')
    const listed = await cli('runs', 'list', '--hook', 'agent', '--status', 'succeeded')
    expect(listed).toMatchObject({ code: 0, stderr: '' })
    expect(lines(listed.stdout)).toContainEqual(
      expect.stringMatching(`^${id}  \\d{4}-\\S+Z  succeeded  hook  agent  agent:main:hook:tests$`),
    )
    expect((await cli('runs', 'list', '--status', 'failed')).stderr).toBe('There are no runs to list.\n')
    expect(JSON.parse(lines((await cli('runs', 'list', '--json')).stdout)[0]!)).toMatchObject({ status: 'succeeded' })

    const shown = await cli('runs', 'show', id)
    expect(shown.stdout).toMatch(/^status {2,}succeeded$/m)
    expect(shown.stdout).toContain(String.raw`Received: Say \u001b[31mhello.`)
    expect(shown.stdout).toMatch(/^queued {2,}\d[\d.]* m?s$/m)
    expect(shown.stdout).toMatch(/^model {2,}\d[\d.]* m?s {2,}builtin\/rules · \d+ → \d+ tokens · \$0/m)
    expect(shown.stdout).toMatch(/^cost {2,}\$0$/m)
    expect(shown.stdout).toMatch(
      /^narrowed {2,}It may do less, because it reads text from webhook agent\. To lift this, allow tools in tools\.byOrigin/m,
    )
    expect((await cli('runs', 'show', id, '--steps')).stdout).toMatch(/^1 {2}model .*\ntext: Received: Say/m)
    expect(JSON.parse((await cli('runs', 'show', id, '--json')).stdout)).toMatchObject({
      id,
      status: 'succeeded',
      steps: [{ kind: 'model', number: 1 }],
    })
  })

  it('says how many runs are not listed', async () => {
    const { cli, work } = shared()
    await work('One.')
    const newest = await work('Two.')
    const listed = await cli('runs', 'list', '--limit', '1')
    expect(lines(listed.stdout)).toEqual([expect.stringContaining(newest)])
    expect(listed.stderr).toBe('There are more than 1 runs; use --limit to see more.\n')
  })

  it('says why a run cannot be cancelled, retried or found', async () => {
    const { cli, work } = shared()
    const id = await work('Three.')
    const failed = (stderr: string) => ({ code: 1, stdout: '', stderr })
    expect(await cli('runs', 'cancel', id)).toEqual(failed('The run has already ended: its status is succeeded.\n'))
    expect(await cli('runs', 'retry', id)).toEqual(
      failed('Only a failed run can be retried; the status of this one is succeeded.\n'),
    )
    expect(await cli('runs', 'show', 'nothing')).toMatchObject(failed(expect.stringMatching(/^.+\n$/)))
  })
})

describe('svc-gateway usage', () => {
  const shared = share(async () => {
    const model = await startModel()
    model.otherwise({ text: 'Noted.' })
    const long = 'a-model-with-a-name-that-is-much-too-long-for-a-table-in-a-terminal-of-eighty-columns'
    const gateway = await startGateway({
      providers: model.providers,
      agents: {
        defaults: {
          model: 'double/m',
          models: [{ id: 'double/m', price: { input: 2000, output: 10_000 } }, `double/${long}`],
          heartbeat: { every: 0 },
        },
      },
      budget: { timezone: 'Pacific/Kiritimati' },
    })
    for (const name of ['m', 'm', long])
      await gateway.post('/hooks/agent', { message: 'Hi.', model: `double/${name}`, ...still }, { prefer: 'wait=60' })
    const env = { SVC_GATEWAY_URL: gateway.url, SVC_GATEWAY_TOKEN: gatewayToken }
    return { cli: (...args: string[]): Promise<Done> => runHere(temporaryFolder(), ['usage', ...args], { env }) }
  })

  const note =
    'The price of 1 of 3 calls is not known, so the cost is higher than shown; set agents.defaults.models[].price.\n'

  it('prints a table that fits a terminal', async () => {
    const days = await shared().cli()
    expect(days.stdout).toMatch(/^\d{4}-\d\d-\d\d  +3 +150 +30 +60 +\$0\.60\+\n$/)
    expect(days.stderr).toBe(`Times are of the time zone Pacific/Kiritimati.\n${note}`)
    const { stdout, stderr } = await shared().cli('--by', 'model', '--since', '7d')
    expect(lines(stdout).map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
      'double/m 2 100 20 40 $0.60',
      expect.stringMatching(/^…\S+table-in-a-terminal-of-eighty-columns 1 50 10 20 unknown$/),
      'total 3 150 30 60 $0.60+',
    ])
    expect(Math.max(...lines(stdout).map(({ length }) => length))).toBe(80)
    expect(stderr).toBe(note)
    expect(await shared().cli('--since', '2020-01-01', '--until', '2020-12-31')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'There are no calls of models to list.\n',
    })
  })

  it('prints comma-separated values, and JSON', async () => {
    const csv = await shared().cli('--by', 'hook', '--per', 'month', '--csv')
    expect(lines(csv.stdout)).toEqual([
      'period,hook,steps,unpricedSteps,inputTokens,cachedInputTokens,cacheWriteTokens,outputTokens,reasoningTokens,' +
        'totalTokens,cost',
      expect.stringMatching(/^\d{4}-\d\d,agent,3,1,150,30,0,60,15,210,0\.600000000$/),
    ])
    const json = await shared().cli('--by', 'channel', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({ total: { steps: 3 }, items: [{ channel: null, cost: 0.6 }] })
  })

  it('says what is not possible', async () => {
    const failed = { code: 1, stdout: '' }
    expect(await shared().cli('--csv', '--json')).toEqual({ ...failed, stderr: 'Use either --csv or --json.\n' })
    expect(await shared().cli('--since', 'yesterday')).toMatchObject({
      ...failed,
      stderr: expect.stringMatching(/^since must be a day, such as /),
    })
  })
})

describe('svc-gateway sessions', () => {
  it('lists sessions, and shows one with its transcript', async () => {
    const { cli, work } = shared()
    await work('Remember the milk.')
    const listed = await cli('sessions', 'list', '--agent', 'main')
    expect(lines(listed.stdout)).toContainEqual(expect.stringMatching(/^agent:main:hook:tests +main  \d{4}-\S+Z$/))
    const shown = await cli('sessions', 'show', 'agent:main:hook:tests')
    expect(shown.stdout).toMatch(/^session {2,}agent:main:hook:tests$/m)
    expect(shown.stdout).toContain('Remember the milk.')
    const json = JSON.parse((await cli('sessions', 'show', 'agent:main:hook:tests', '--json')).stdout)
    expect(json).toMatchObject({ key: 'agent:main:hook:tests', transcript: expect.any(Array) })
    expect(await cli('sessions', 'show', 'agent:main:nobody')).toMatchObject({ code: 1, stdout: '' })
  })

  it('deletes a session, with --yes where nobody can be asked', async () => {
    const { cli, work } = shared()
    await work('Remember the bread.')
    expect(await cli('sessions', 'delete', 'hook:tests')).toMatchObject({
      code: 1,
      stderr: 'Nothing was deleted. To delete agent:main:hook:tests, run the command again with --yes.\n',
    })
    expect(await cli('sessions', 'show', 'hook:tests')).toMatchObject({ code: 0 })
    expect(await cli('sessions', 'delete', 'hook:tests', '--yes')).toMatchObject({
      stdout: 'Deleted agent:main:hook:tests.\n',
      stderr: '',
      code: 0,
    })
    for (const rest of [['show'], ['delete', '--yes']])
      expect(await cli('sessions', rest[0]!, 'hook:tests', ...rest.slice(1))).toMatchObject({
        code: 1,
        stderr: 'There is no session with this key.\n',
      })
  })
})

describe('svc-gateway tools', () => {
  it('lists and runs tools, and explains why one is denied', async () => {
    const { cli, cliWith } = shared()
    expect((await cli('tools', 'list')).stdout).toMatch(/^session_status +sessions +\S/m)
    expect(JSON.parse((await cli('tools', 'invoke', 'session_status', '--json')).stdout)).toMatchObject({
      key: 'agent:main:main',
    })
    const history = ['tools', 'invoke', 'sessions_list', '--json', '--args']
    const given = JSON.parse((await cli(...history, '{"limit":1}')).stdout)
    expect(JSON.parse((await cliWith('{"limit":1}', ...history, '-')).stdout)).toEqual(given)
    const explained = await cli('tools', 'explain', 'exec')
    expect(explained.stdout).toMatch(/^verdict {2}deny$/m)
    expect(explained.stdout).toMatch(/^tools\.deny|deny/m)
  })

  it.each([
    ['--args is not valid JSON.', 'session_status', '{'],
    ['--args must be a JSON object, such as {"path":"notes.md"}.', 'session_status', '[]'],
    ['--args: nothing.json cannot be read (ENOENT).', 'session_status', '@nothing.json'],
  ])('answers "%s"', async (message, tool, args) => {
    expect(await shared().cli('tools', 'invoke', tool, '--args', args)).toEqual({
      code: 1,
      stdout: '',
      stderr: `${message}\n`,
    })
  })

  it('reports an unavailable tool', async () => {
    expect(await shared().cli('tools', 'invoke', 'exec')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^.+\n$/),
    })
  })
})

describe('a command for a running gateway', () => {
  it('takes the address and the credential from options', async () => {
    const { bare, url } = shared()
    expect(await bare('tools', 'list', '--url', url, '--token', gatewayToken)).toMatchObject({ code: 0, stderr: '' })
    expect(await bare('tools', 'list', '--url', url, '--token', 'wrong-token-of-the-tests')).toEqual({
      code: 1,
      stdout: '',
      stderr: `The gateway at ${url} rejects the credential from --token; give its configuration file with --config.\n`,
    })
    expect(await bare('tools', 'list', '--url', url)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no credential in the environment; give it with --token, or set SVC_GATEWAY_TOKEN.\n',
    })
  })

  it('exits with 2 if no gateway answers', async () => {
    const nowhere = ['--url', 'http://127.0.0.1:9', '--token', 'x']
    for (const args of [
      ['runs', 'list'],
      ['sessions', 'list'],
      ['tools', 'list'],
    ])
      expect(await shared().bare(...args, ...nowhere)).toMatchObject({ code: 2, stdout: '' })
  })

  it.each([
    [['runs', 'lsit'], 'There is no command "runs lsit"; did you mean "list"?'],
    [['runs', 'show'], "error: missing required argument 'id'"],
    [['runs', 'list', '--status', 'done'], "error: option '--status <status>' argument 'done' is invalid."],
    [['runs', 'list', '--limit', '0'], "error: option '--limit <number>' argument '0' is invalid."],
    [['runs', 'list', '--url', 'gateway'], "error: option '--url <address>' argument 'gateway' is invalid."],
  ])('rejects bad input: %j', async (args, message) => {
    const ended = await shared().cli(...args)
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^${RegExp.escape(message)}.*\n$`))
  })
})
