// Tests the commands `requests` and `replay` against a running gateway.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ask, gatewayToken, hookToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { program } from '../program.ts'
import { share } from '../share.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'
import { startReachable } from './reachable-gateway.ts'
import { openTerminal } from './terminal.ts'

const later = { wakeMode: 'next-heartbeat' }

/** Starts a gateway. The commands run in its folder. */
async function start() {
  const dir = temporaryFolder()
  const mappings = [
    {
      ...later,
      id: 'mail',
      match: { path: 'mail' },
      deliver: false,
      sessionKey: 'hook:mail:{{ from }}',
      messageTemplate: '{{ text }}',
    },
    { ...later, id: 'news', action: 'wake', match: { path: 'news' }, textTemplate: '{{ text }}' },
  ]
  const agents = { defaults: { heartbeat: { every: 0 } } }
  const { url, post, get } = await startReachable(writeConfig(dir, { agents, hooks: { mappings } }))
  const requests = async (query = ''): Promise<{ id: string; replayOf?: string; status: string }[]> =>
    (await get(`/api/requests?${query}`)).body.items
  /** Returns the id of the request. */
  const send = async (path: string, body: unknown): Promise<string> => {
    await post(path, body)
    return (await requests())[0]!.id
  }
  return { dir, url, post, send, get, requests, cli: (...args: string[]) => runHere(dir, args) }
}

const shared = share(start)

const lines = (text: string) => text.split('\n').filter(Boolean)

describe('svc-gateway requests', () => {
  it('lists requests, newest first, filtered, and as JSON', async () => {
    const { post, cli, requests } = await start()
    await post('/hooks/mail', { from: 'ada', text: 'One.' })
    await post('/hooks/wake', { text: 'Two.', mode: 'next-heartbeat' })
    await post('/hooks/wake', { mode: 'next-heartbeat' })
    await expect.poll(async () => (await requests()).length).toBe(3)
    const [bad, wake, mail] = await requests()

    const all = await cli('requests')
    expect(all).toMatchObject({ code: 0, stderr: '' })
    const at = String.raw`  \d{4}-\S+Z  `
    expect(lines(all.stdout)).toEqual([
      expect.stringMatching(`^${bad!.id}${at}rejected   wake  invalid_request: text is required\\.$`),
      expect.stringMatching(`^${wake!.id}${at}accepted   wake  1 event$`),
      expect.stringMatching(`^${mail!.id}${at}accepted   mail  1 run$`),
    ])
    const found = async (...args: string[]) =>
      lines((await cli('requests', '--json', ...args)).stdout).map((line) => (JSON.parse(line) as { id: string }).id)
    expect(await found('--hook', 'mail')).toEqual([mail!.id])
    expect(await found('--status', 'rejected')).toEqual([bad!.id])
    expect(await found('--run-status', 'failed')).toEqual([])
    expect(await found('--text', 'two.')).toEqual([wake!.id])
    expect(await found('--since', '1h')).toEqual([bad!.id, wake!.id, mail!.id])
    expect(await found('--until', '1h')).toEqual([])
    expect(await cli('requests', '--limit', '1')).toMatchObject({
      code: 0,
      stderr: 'There are more than 1 requests; use --limit to see more, or --since and --hook to select.\n',
    })
    expect(await cli('requests', '--since', '2999-01-01')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No request matches.\n',
    })
    expect(await cli('requests', '--since', 'yesterday')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('It must be a duration such as 90m'),
    })
  })
})

describe('svc-gateway requests <request-id>', () => {
  it('shows the body, and what the agent reads, with control characters escaped', async () => {
    const { send, cli } = shared()
    const id = await send('/hooks/mail', { from: 'ada', text: 'One.\nTwo \u001b[31m.' })
    const { code, stdout } = await cli('requests', id)
    expect(code).toBe(0)
    expect(stdout).toContain(`  request   ${id}\n`)
    expect(stdout).toContain('  status    accepted: 1 run\n')
    expect(stdout).toContain('    | {"from":"ada","text":"One.')
    expect(stdout).toMatch(
      /\n1\. agent\n {2}agent {5}main\n {2}session {3}agent:main:hook:mail:ada\n {2}run {7}\S+ \w+\n/,
    )
    expect(stdout).toMatch(/\n {2}message\n {4}\| One\.\n {4}\| Two .*\n$/)
    expect(stdout).not.toContain('\u001b')
    expect(JSON.parse((await cli('requests', id, '--json')).stdout)).toMatchObject({
      id,
      actions: [{ action: 'agent' }],
    })
    expect(await cli('requests', id, '--hook', 'mail')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not both'),
    })
    expect(await cli('requests', 'unknown')).toMatchObject({ code: 1, stdout: '' })
  })
})

describe('svc-gateway replay <request-id>', () => {
  it('shows a dry run with control characters escaped', async () => {
    const { send, cli, requests } = shared()
    const id = await send('/hooks/mail', { from: 'ada', text: 'Hello\u001b[2J\nYou.' })
    const before = await requests()
    const { code, stdout, stderr } = await cli('replay', id, '--dry-run')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      /^ {2}hook {6}mapping mail, by its path\n {2}auth {6}hook-token is asked for; .* hook-token\n\n1\. agent\n/,
    )
    expect(stdout).toContain(
      '  session   agent:main:hook:mail:ada\n  model     builtin/rules, at most 600 seconds\n  reply     is not ' +
        'delivered\n  tools     agents_list, ',
    )
    expect(stdout).toMatch(/ {4}\| <<<OUTSIDE TEXT \w+>>>\n[^]* {4}\| Hello\\u001b\[2J\n {4}\| You\.\n/)
    expect(stdout).toMatch(/\nNothing was started\.\n$/)
    expect(await requests()).toEqual(before)
  })

  it('replays a request, also with another body or mapping', async () => {
    const { dir, send, cli, get } = shared()
    const id = await send('/hooks/mail', { from: 'ada', text: 'Hello' })
    const again = await run(dir, ['replay', id])
    const [, requestId, runId] = /^replayed as (\S+): run (\S+)\n$/.exec(again.stdout) ?? []
    expect((await get(`/api/requests/${requestId}`)).body).toMatchObject({ replayOf: id, runIds: [runId] })

    writeFileSync(join(dir, 'body.json'), '{ "from": "eve", "text": "Edited" }')
    const edited = JSON.parse((await cli('replay', id, '--body', 'body.json', '--json')).stdout) as object
    expect(edited).toMatchObject({ ok: true, sessionKey: 'agent:main:hook:mail:eve' })
    const piped = await run(dir, ['replay', id, '--mapping', 'news', '--body', '-', '--dry-run'], {
      input: '{"text":"Piped"}',
    })
    expect(piped.stdout).toContain('mapping news, as asked for')
    expect(piped.stdout).toMatch(
      /1\. wake\n {2}session {3}agent:main:main\n {2}text {6}Piped\n[^]*The next heartbeat\n {2}model/,
    )
  })

  it.each([
    [
      ['replay'],
      'Give a request id, or select requests with --hook, --status, --run-status, --since, --until or --text.\n',
    ],
    [['replay', 'x', '--hook', 'mail'], 'Give either a request id or a filter, not both.\n'],
    [
      ['replay', '--hook', 'mail', '--body', '-'],
      '--body is for a single request; omit it, or give a request id instead of the filter.\n',
    ],
    [['replay', '--hook', 'mail', '--dry-run', '--yes'], '--dry-run and --yes exclude each other; omit one of them.\n'],
    [['replay', 'x', '--body', 'nothing.json'], '--body: nothing.json cannot be read (ENOENT).\n'],
    [['replay', 'x', '--body', 'gateway.json'], '--body: gateway.json is not valid JSON.\n'],
  ])('rejects with one sentence: %j', async (args, sentence) => {
    const dir = temporaryFolder()
    writeConfig(dir)
    writeFileSync(join(dir, 'gateway.json'), 'none')
    expect(await runHere(dir, args)).toEqual({ code: 1, stdout: '', stderr: sentence })
  })
})

describe('svc-gateway replay with a filter', () => {
  /** Sends this many requests of mail; the last one is rejected. */
  async function startWithMail(texts: readonly string[]) {
    const started = await start()
    for (const text of texts) await started.post('/hooks/mail', { from: 'ada', text })
    await started.post('/hooks/mail', { from: 'ada' })
    await vi.waitUntil(async () => (await started.requests('status=rejected')).length === 1, 30_000)
    return { ...started, ids: (await started.requests()).map(({ id }) => id).toReversed() }
  }

  const withMail = share(() => startWithMail(['One.', 'Two.']))

  it('does a dry run first, and prints the same as JSON', async () => {
    const { cli, requests, ids } = withMail()
    const [one, two, bad] = ids
    const dry = await cli('replay', '--hook', 'mail', '--since', '1h')
    expect(dry).toMatchObject({
      code: 1,
      stderr: 'Nothing was started: 2 of 3 would be replayed. Add --yes to replay them.\n',
    })
    expect(lines(dry.stdout).map((line) => line.replace(/^(\S+) .* mail {2}/, '$1 '))).toEqual([
      `${one} would become agent main agent:main:hook:mail:ada`,
      `${two} would become agent main agent:main:hook:mail:ada`,
      expect.stringMatching(`^${bad} rejected: The hook makes no valid action of this payload: message is required`),
    ])
    const { stdout } = await cli('replay', '--since', '1h', '--dry-run', '--json')
    expect(lines(stdout).map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { request: one, ok: true, dryRun: true, mapping: 'mail' },
      { request: two, ok: true, dryRun: true, mapping: 'mail' },
      { request: bad, ok: false, error: { type: 'invalid_request' } },
    ])
    expect(await requests()).toHaveLength(3)
  })

  it('starts nothing if too many requests match, or none', async () => {
    const { cli, requests } = withMail()
    expect(await cli('replay', '--hook', 'mail', '--limit', '2')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'More than 2 requests match; narrow the filter, or raise --limit.\n',
    })
    expect(await cli('replay', '--hook', 'nothing')).toMatchObject({ code: 1, stderr: 'No request matches.\n' })
    expect(await requests()).toHaveLength(3)
  })

  it('replays with --yes, oldest first, and not twice', async () => {
    const { cli, requests, ids } = await startWithMail(['One.', 'Two.'])
    const [one, two] = ids
    const real = await cli('replay', '--hook', 'mail', '--status', 'accepted', '--yes', '--rate', '1000')
    expect(real).toMatchObject({ code: 0, stderr: '2 of 2 were replayed.\n' })
    expect(lines(real.stdout)[2]).toMatch(new RegExp(`^${one} .* replayed as \\S+: run \\S+$`))
    expect((await requests()).slice(0, 2).map(({ replayOf }) => replayOf)).toEqual([two, one])

    const twice = await cli('replay', '--hook', 'mail', '--status', 'accepted', '--yes')
    expect(twice).toEqual({ code: 0, stdout: '', stderr: '2 of 2 were already replayed; --again includes them.\n' })
    expect(await cli('replay', '--hook', 'mail', '--status', 'accepted', '--again', '--dry-run')).toMatchObject({
      stderr: 'Nothing was started: 2 of 2 would be replayed. Add --yes to replay them.\n',
    })
  })

  it('shows a bar below the requests in a terminal', async () => {
    const { dir, ids } = await startWithMail(['One.', 'Two.'])
    const { screen, ended } = openTerminal(dir, ['replay', '--hook', 'mail', '--status', 'accepted', '--yes'])
    expect(await ended).toBe(0)
    for (const bar of ['--- Dry run: 0 of 2 requests', '=--------------- Replaying: 1 of 2 requests'])
      expect(screen()).toContain(bar)
    for (const id of ids.slice(0, 2)) expect(screen()).toMatch(new RegExp(`${id} .* replayed as `))
    expect(screen().trimEnd()).toMatch(/2 of 2 were replayed\.$/)
  })

  it('respects --rate and stops at Ctrl-C between two requests', async () => {
    const { dir, requests } = await startWithMail(Array.from({ length: 5 }, (_, n) => `Number ${n}.`))
    const args = ['replay', '--hook', 'mail', '--status', 'accepted', '--yes', '--rate', '2']
    const child = spawn(process.execPath, [program, ...args], {
      cwd: dir,
      env: { PATH: process.env['PATH'], XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'], HOME: dir },
    })
    const [printed, said]: [string[], string[]] = [[], []]
    const begun = Promise.withResolvers<void>()
    createInterface({ input: child.stdout }).on('line', (line) => {
      printed.push(line)
      if (line.includes('replayed as')) begun.resolve()
    })
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line))
    await begun.promise
    child.kill('SIGINT')
    const [code] = (await once(child, 'close')) as [number]
    const done = printed.filter((line) => line.includes('replayed as')).length
    expect([code, said]).toEqual([130, [`${done} of 5 were replayed; run the same command again to continue.`]])
    expect(done).toBeLessThan(5)
    expect((await requests()).filter(({ replayOf }) => replayOf !== undefined)).toHaveLength(done)

    expect((await run(dir, [...args.slice(0, -1), '1000'])).stderr).toBe(
      `${done} of 5 were already replayed; --again includes them.\n${5 - done} of ${5 - done} were replayed.\n`,
    )
  })
})

describe('a command that calls the gateway', () => {
  it('reports a missing gateway, a rejected credential and a foreign server', async () => {
    const { url, cli } = shared()
    const other = createServer((_request, response) => void response.end('hello')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const strange = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const nobody = 'http://127.0.0.1:2'
    const env = { SVC_GATEWAY_TOKEN: 'another token' }
    const elsewhere = temporaryFolder()
    const at = (address: string) => cli('requests', '--url', address)
    expect(await at(nobody)).toEqual({
      code: 2,
      stdout: '',
      stderr: `No gateway answers at ${nobody} (ECONNREFUSED); start it, or give its address with --url.\n`,
    })
    expect(await at(strange)).toEqual({
      code: 1,
      stdout: '',
      stderr: `The server at ${strange} is not svc-gateway; give the gateway's address with --url.\n`,
    })
    expect(await at('127.0.0.1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('It must be an address such as http://127.0.0.1:18789.'),
    })
    expect(await run(elsewhere, ['requests', '--url', url], { env })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `The gateway at ${url} rejects the credential from the environment; give its ` +
        `configuration file with --config.\n`,
    })
    expect(
      await run(elsewhere, ['requests', '--url', `${url}/`], { env: { SVC_GATEWAY_TOKEN: gatewayToken } }),
    ).toMatchObject({ code: 0 })
    expect(await cli('replay', 'nothing')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^There is no request.*\n$/),
    })
  })

  it('finds the gateway at the port that it listens on, which --port has set', async () => {
    const dir = temporaryFolder()
    const configurePort = (port: number) => writeConfig(dir, { gateway: { port, auth: { token: gatewayToken } } })
    const gateway = await spawnGateway(configurePort(1), { args: ['--port', '0'] })
    onTestFinished(async () => void (await gateway.end('SIGKILL')))
    await ask(`${gateway.url}/hooks/wake`, {
      method: 'POST',
      body: '{"text":"x"}',
      headers: { authorization: `Bearer ${hookToken}` },
    })
    // A new port takes effect at the next start.
    for (const port of [1, 0, 2]) {
      configurePort(port)
      const found = await run(dir, ['requests'])
      expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('wake'), stderr: '' })
    }
    await gateway.end('SIGKILL')
    // A program that took over the port of a crashed gateway must not receive the credential.
    expect(await run(dir, ['requests'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No gateway answers at http://127.0.0.1:2 '),
    })
  })

  it.each([
    [
      { gateway: { port: 0 } },
      /^There is no credential in .*; give it with --token, or set gateway\.auth\.token or SVC_GATEWAY_TOKEN\.\n$/,
    ],
    [
      { gateway: { port: 0, auth: { token: 't' } } },
      /^gateway\.port in .*gateway\.json5 is 0, .*; start it, or give its address with --url\.\n$/,
    ],
    [
      { gateway: { port: 'x', auth: { token: '${NOT_SET}' } } },
      /has 2 problems:\n.*gateway\.auth\.token needs the environment variable NOT_SET.*\n.*gateway\.port must be/,
    ],
    [
      { gateway: { auth: { token: { file: 'token' } }, port: 1 }, hooks: { auth: '${NOT_SET}' } },
      /has a problem:\n.*gateway\.auth\.token refers to a file that cannot be read/,
    ],
  ])('says what is wrong with the section of the gateway, and looks at nothing else: %j', async (changes, words) => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'gateway.json5'), JSON.stringify({ plugins: ['./not-there.js'], ...changes }))
    const { code, stderr } = await runHere(dir, ['requests'])
    expect([code, stderr]).toEqual([1, expect.stringMatching(words)])
  })

  it('explains how to create a configuration if there is none', async () => {
    expect((await run(temporaryFolder(), ['requests'])).stderr).toContain(
      'does not exist; run "npm start -- setup" to create it',
    )
  })
})
