// Tests changes of the configuration while the gateway runs.
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { queryObjects } from 'node:v8'
import { expect, it, onTestFinished, describe } from 'vitest'
import { ConfigError } from '../core/config/config-error.ts'
import { messagesOf, startModel, systemOf } from './doubles/model.ts'
import {
  ask,
  baseDocument,
  gatewayToken,
  hookToken,
  type RunningGateway,
  spawnGateway,
  startGateway,
  temporaryFolder,
  writeConfig,
} from './helpers.ts'
import { reloadUnderLoad } from './reliability/reloads.ts'
import { share } from './share.ts'

/** Writes the file and reloads it. */
async function change({ gateway, dir }: RunningGateway, changes: Record<string, unknown>) {
  writeConfig(dir, changes)
  return await gateway.reload()
}

const defaults = { model: 'double/m', retry: { forSeconds: 0 } }
const other = 'another-hook-token-0123456789abcdef'

/** A toolset whose tools say how often it was opened, and with which label. `wait` waits for a file. */
const countingPlugin = `
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { defineTool, defineToolset, Type } from 'svc-gateway/plugin'
let opened = 0
const args = Type.Object({})
export default defineToolset({
  name: 'counting',
  description: 'Counts.',
  config: Type.Object({ label: Type.String({ default: 'old', description: 'A label.' }) }),
  open: async ({ label }, { log }) => {
    const number = ++opened
    const waitForFile = async (_args, { signal }) => {
      log.warn({}, 'it waits')
      while (!existsSync(join(import.meta.dirname, 'go'))) await delay(20, undefined, { signal })
      return label
    }
    return {
      tools: [
        defineTool({ name: 'opened', description: 'Counts.', args, effects: [], execute: async () => number }),
        defineTool({ name: 'wait', description: 'Waits.', args, effects: [], execute: waitForFile }),
      ],
      close: async () => log.warn({}, 'it closes'),
    }
  },
})
`

async function startCounting(tools: object) {
  const [dir, plugins] = [temporaryFolder(), ['./counting.ts']]
  writeFileSync(join(dir, 'counting.ts'), countingPlugin)
  const running = await startGateway({ plugins, tools }, dir)
  const authorization = `Bearer ${gatewayToken}`
  return { ...running, plugins, use: (tool: string) => running.post('/tools/invoke', { tool }, { authorization }) }
}

describe('a reload', () => {
  const shared = share(() => startGateway())
  /** The shared gateway, with this configuration. */
  const configure = async (changes: Record<string, unknown> = {}) => {
    await change(shared(), changes)
    return shared()
  }

  it('applies the file with the port still open', async () => {
    const running = await configure()
    expect(await change(running, { hooks: { token: other } })).toEqual({ restartFor: [] })
    expect(await running.post('/hooks/wake', { text: 'x' })).toMatchObject({ status: 401 })
    expect(await running.post('/hooks/wake', { text: 'x' }, { authorization: `Bearer ${other}` })).toMatchObject({
      status: 200,
    })
    await change(running, { hooks: { enabled: false } })
    expect(await running.post('/hooks/wake', { text: 'x' }, { authorization: `Bearer ${other}` })).toMatchObject({
      status: 404,
    })
  })

  it('refuses an invalid file, with every problem, and keeps the old configuration', async () => {
    const running = await configure()
    const refused = await change(running, {
      hooks: { enabld: true },
      agents: { defaults: { maxAttempts: 'many' } },
    }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ConfigError)
    expect((refused as ConfigError).problems.map(({ path }) => path)).toEqual([
      'hooks.enabld',
      'agents.defaults.maxAttempts',
    ])
    expect(await running.post('/hooks/wake', { text: 'x' })).toMatchObject({ status: 200 })
  })

  it('offers the login tools of the channels that are configured, and of no others', async () => {
    const plugins = [fileURLToPath(new URL('fixtures/phone/phone.mjs', import.meta.url))]
    const gateway = { tools: { allow: ['phone_login', 'signal_login', 'whatsapp_login'] } }
    const running = await startGateway({ gateway, plugins, channels: { mobile: { token: 'token-of-phone' } } })
    const authorization = `Bearer ${gatewayToken}`
    const listed = async () => {
      const { items } = (await running.get('/tools')).body as { items: { name: string }[] }
      return items.map(({ name }) => name).filter((name) => name.endsWith('_login'))
    }
    const use = async (tool: string) =>
      (await running.post('/tools/invoke', { tool, args: { action: 'status' } }, { authorization })).status
    expect([await listed(), await use('phone_login'), await use('signal_login')]).toEqual([['phone_login'], 200, 404])
    const signal = { account: '+15550000001', httpUrl: 'http://127.0.0.1:1' }
    await change(running, { gateway, plugins, channels: { phone: { enabled: false, token: 'x' }, signal } })
    expect([await listed(), await use('phone_login'), await use('signal_login')]).toEqual([['signal_login'], 404, 200])
    await change(running, { gateway, plugins, tools: { timeoutSeconds: 9 }, channels: {} })
    expect([await listed(), await use('signal_login')]).toEqual([[], 404])
    const warnings = running.logged.filter((line) => line.includes('_login'))
    expect(warnings).toEqual([])
  })

  it('says that new plugins need a restart, if only they know a section', async () => {
    const running = await configure()
    const changes = { plugins: ['./pager.mjs'], channels: { pager: { url: 'http://127.0.0.1' } } }
    const refused = await change(running, changes).catch((error: unknown) => error)
    expect((refused as ConfigError).problems.map(({ path, problem }) => `${path} ${problem}`)).toEqual([
      expect.stringMatching(/^channels\.pager is not a known key/),
      expect.stringMatching(/^plugins has changed, which needs a restart; /),
    ])
  })

  it('returns the keys that need a restart and applies the rest', async () => {
    const running = await configure()
    const changes = { gateway: { port: 1, auth: { token: other } }, log: { level: 'error', pretty: true } }
    expect(await change(running, changes)).toEqual({ restartFor: ['gateway.port', 'log.pretty'] })
    expect(await running.get('/api/runs')).toMatchObject({ status: 401 })
    expect(await running.get('/api/runs', { authorization: `Bearer ${other}` })).toMatchObject({ status: 200 })
  })

  it.each<[string, Record<string, unknown>]>([
    ['gateway.port', { gateway: { port: 1 } }],
    ['gateway.bind', { gateway: { bind: '127.0.0.2' } }],
    ['storage.url', { storage: { url: 'sqlite:state/other.db' } }],
    ['plugins', { plugins: ['./other.mjs'] }],
    ['log.pretty', { log: { pretty: true } }],
  ])('keeps %s until the restart', async (key, changes) => {
    const running = await configure()
    expect(await change(running, changes)).toEqual({ restartFor: [key] })
    const { body } = await running.get('/api/config')
    expect(body).not.toMatchObject(changes)
  })

  it('lets a started run end under the old configuration, and starts the next one under the new', async () => {
    const model = await startModel()
    const running = await configure({ providers: model.providers, agents: { defaults } })
    model.script({ hang: true, text: 'thinking' })
    const first = running.post(
      '/hooks/agent',
      { message: 'one', deliver: false, timeoutSeconds: 3 },
      { prefer: 'wait=20' },
    )
    const { abandoned } = await model.request(0)
    await change(running, { agents: { defaults: { model: 'builtin/rules' } } })
    const second = await running.post('/hooks/agent', { message: 'two', deliver: false }, { prefer: 'wait=20' })
    expect(second.body.reply).toContain('built-in rules model')
    // Its own time limit ended it, not the reload.
    expect((await first).body).toMatchObject({ status: 'timed_out' })
    await abandoned
  })

  it('lets the runs of an agent that it removes wait for it: no other agent does their work', async () => {
    const model = await startModel()
    const base = { providers: model.providers, hooks: { allowRequestSessionKey: true } }
    const before = { ...base, agents: { defaults, main: {}, support: { systemPrompt: 'I am support.' } } }
    const running = await configure(before)
    model.script({ hang: true })
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const submit = async (message: string) => {
      const body = {
        message,
        agentId: 'support',
        sessionKey: 'hook:one',
        wakeMode: 'next-heartbeat',
        timeoutSeconds: 2,
      }
      return (await running.post('/hooks/agent', { ...body, deliver: false })).body['runId'] as string
    }
    await submit('one')
    await model.request(0)
    const second = await submit('two')
    const read = async () => (await running.get(`/runs/${second}`)).body
    await change(running, { ...base, agents: { defaults, main: {} } })
    await expect.poll(read).toMatchObject({
      status: 'queued',
      error: {
        type: 'agent_removed',
        message: 'The agent "support" is not in the configuration; add it, or cancel the run.',
      },
    })
    await change(running, before)
    await expect.poll(read).toMatchObject({ status: 'succeeded' })
    const systems = model.requests.filter((request) => messagesOf(request).at(-1)?.content.includes('\ntwo\n'))
    expect(systems.map((request) => systemOf(request).includes('I am support.'))).toEqual([true])
  })

  it('keeps the lockouts of the hooks and of the gateway, and applies the new limits', async () => {
    const limits = { maxAttempts: 2, windowMs: 60_000, lockoutMs: 60_000 }
    const locking = {
      gateway: { auth: { token: gatewayToken, rateLimit: { ...limits, exemptLoopback: false } } },
      hooks: { rateLimit: limits },
    }
    const running = await startGateway(locking)
    const guess = async () => [
      (await running.post('/hooks/wake', {}, wrong)).status,
      (await running.get('/api/runs', wrong)).status,
    ]
    const wrong = { authorization: 'Bearer wrong' }
    expect([await guess(), await guess(), await guess()]).toEqual([
      [401, 401],
      [401, 401],
      [429, 429],
    ])
    await change(running, { ...locking, session: { historyTurns: 5 } })
    expect(await guess()).toEqual([429, 429])
    expect((await running.get('/api/runs')).status).toBe(429)
    await change(running, { hooks: locking.hooks })
    expect((await running.get('/api/runs')).status).toBe(200)
  })

  it('keeps toolsets with unchanged settings open, and applies the policy at once', async () => {
    const running = await configure()
    const invoke = () =>
      ask(`${running.url}/tools/invoke`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gatewayToken}` },
        body: '{"tool":"agents_list"}',
      })
    expect((await invoke()).status).toBe(200)
    await change(running, { tools: { deny: ['agents_list'] } })
    expect((await invoke()).status).toBe(404)
    await change(running, {})
    expect((await invoke()).status).toBe(200)
    const counting = await startCounting({})
    expect(await counting.use('opened')).toMatchObject({ body: { result: 1 } })
    await change(counting, { plugins: counting.plugins, tools: { deny: ['agents_list'], timeoutSeconds: 9 } })
    expect(await counting.use('opened')).toMatchObject({ body: { result: 1 } })
    await change(counting, { plugins: counting.plugins, tools: { counting: { label: 'new' } } })
    expect(await counting.use('opened')).toMatchObject({ body: { result: 2 } })
  })

  it('lets a call of a tool end under the old configuration', async () => {
    const counting = await startCounting({})
    const ends = counting.use('wait')
    const overMcp = fetch(`${counting.url}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } }),
      headers: {
        authorization: `Bearer ${gatewayToken}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
    })
    const waiting = () => counting.logged.filter((line) => line.includes('it waits')).length
    await expect.poll(waiting).toBe(2)
    await change(counting, { plugins: counting.plugins, tools: { counting: { label: 'new' } } })
    writeFileSync(join(counting.dir, 'go'), '')
    expect(await ends).toMatchObject({ status: 200, body: { result: 'old' } })
    expect(await (await overMcp).text()).toContain('"text":"old"')
    await expect.poll(() => counting.logged.join()).toContain('it closes')
  })

  it('connects new channels, closes removed ones, and keeps the rest connected', async () => {
    const running = await configure({ channels: { console: { enabled: false } } })
    const send = () =>
      running.post('/hooks/agent', { message: 'hi', channel: 'console', to: 'x' }, { prefer: 'wait=20' })
    expect((await send()).body.warnings).toHaveLength(1)
    await change(running, {})
    const { body } = await send()
    await expect.poll(() => readFileSync(join(running.dir, 'console.jsonl'), 'utf8')).toContain(body.runId)
  })

  it('keeps nothing of the configurations before', async () => {
    const running = await startGateway()
    const reload = (turns: number) => change(running, { session: { historyTurns: turns } })
    // Each runtime has one. The method collects garbage first.
    const count = () => queryObjects(AsyncDisposableStack, { format: 'count' })
    await reload(1)
    await reload(2)
    const before = count()
    for (let turns = 3; turns <= 8; turns++) await reload(turns)
    // An old runtime closes in the background. Collecting takes long, so it is not done more often than needed.
    await expect.poll(count, { interval: 500 }).toBeLessThanOrEqual(before)
  })

  it('loses no request, however often it is repeated, also with invalid files in between', async () => {
    expect(await reloadUnderLoad(30)).toEqual([200])
  })
})

describe('the file of a running gateway', () => {
  it('is reloaded when a secret file changes, also one that a reload has added', async () => {
    const dir = temporaryFolder()
    mkdirSync(join(dir, 'secrets'))
    const secret = (name: string, token: string) => writeFileSync(join(dir, 'secrets', name), `${token}\n`)
    secret('one', hookToken)
    const gateway = await spawnGateway(writeConfig(dir, { hooks: { token: { file: 'secrets/one' } } }))
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    const wake = async (token: string) =>
      (
        await ask(`${gateway.url}/hooks/wake`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: '{"text":"x"}',
        })
      ).status
    secret('one', other)
    await expect.poll(() => wake(other)).toBe(200)
    mkdirSync(join(dir, 'elsewhere'))
    writeFileSync(join(dir, 'elsewhere', 'two'), other)
    writeConfig(dir, { hooks: { token: { file: 'elsewhere/two' } }, session: { historyTurns: 5 } })
    await expect.poll(() => gateway.log.filter((line) => line.includes('was reloaded')).length).toBe(2)
    writeFileSync(join(dir, 'elsewhere', 'two'), hookToken)
    await expect.poll(() => wake(hookToken)).toBe(200)
  })

  it('is reloaded when Kubernetes replaces a ConfigMap or a Secret, whose files are symlinks', async () => {
    const dir = temporaryFolder()
    const mount = (name: string, version: string, content: Record<string, string>) => {
      const folder = join(dir, name)
      mkdirSync(join(folder, version), { recursive: true })
      for (const [file, text] of Object.entries(content)) {
        writeFileSync(join(folder, version, file), text, { mode: 0o600 })
        if (!existsSync(join(folder, file))) symlinkSync(join('..data', file), join(folder, file))
      }
      symlinkSync(version, join(folder, '..data_tmp'))
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    const config = (token: unknown) => ({
      'gateway.json5': JSON.stringify({ ...baseDocument, hooks: { enabled: true, token } }),
    })
    mount('config', '..1', config(hookToken))
    mount('secret', '..1', { hook: other })
    const gateway = await spawnGateway(join(dir, 'config', 'gateway.json5'))
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    const wake = async (token: string) =>
      (
        await ask(`${gateway.url}/hooks/wake`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: '{"text":"x"}',
        })
      ).status
    mount('config', '..2', config({ file: '../secret/hook' }))
    await expect.poll(() => wake(other)).toBe(200)
    for (const version of ['..2', '..3']) {
      mount('secret', version, { hook: `${other}${version}` })
      await expect.poll(() => wake(`${other}${version}`)).toBe(200)
    }
  })

  it('stays watched after several saves that cannot be parsed, also before the first reload', async () => {
    const dir = temporaryFolder()
    const file = writeConfig(dir)
    const gateway = await spawnGateway(file)
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    const refusals = () => gateway.log.filter((line) => line.includes('was not taken over')).length
    for (const attempt of [1, 2, 3]) {
      writeFileSync(file, `{ hooks: ${'['.repeat(attempt)}`)
      await expect.poll(refusals).toBe(attempt)
    }
    writeConfig(dir, { hooks: { token: other } })
    await expect.poll(() => gateway.log.join()).toContain('the configuration was reloaded')
  })

  it('requires no restart because of --port', async () => {
    const dir = temporaryFolder()
    const gateway = await spawnGateway(writeConfig(dir, { gateway: { port: 1, auth: { token: gatewayToken } } }), {
      args: ['--port', '0'],
    })
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    const reads = () => gateway.log.filter((line) => line.includes('the configuration was reloaded')).length
    writeConfig(dir, { gateway: { port: 1, auth: { token: gatewayToken } }, session: { historyTurns: 5 } })
    await expect.poll(reads).toBe(1)
    expect(gateway.log.join('\n')).not.toContain('gateway.port')
    writeConfig(dir, { gateway: { port: 2, auth: { token: gatewayToken } } })
    await expect
      .poll(() => gateway.log.join('\n'))
      .toContain('gateway.port has changed; the change takes effect at the next start')
  })

  it('is reloaded when it changes and on SIGHUP; its problems are logged', async () => {
    const dir = temporaryFolder()
    const file = writeConfig(dir)
    const gateway = await spawnGateway(file)
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    const wake = (token: string) =>
      ask(`${gateway.url}/hooks/wake`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: '{"text":"x"}',
      })
    writeConfig(dir, { hooks: { token: other } })
    await expect.poll(async () => (await wake(other)).status).toBe(200)
    expect((await wake(hookToken)).status).toBe(401)
    const changed = readFileSync(file, 'utf8')
    writeFileSync(file, '{ hooks: { tokn: 1 } }')
    await expect.poll(() => gateway.log.join('\n')).toContain('hooks.tokn')
    expect((await wake(other)).status).toBe(200)
    // The file is as it was before: the failure is over.
    const isLoaded = async () => {
      const lines = await (
        await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${gatewayToken}` } })
      ).text()
      return /^svc_gateway_config_last_reload_successful (\d)$/m.exec(lines)?.[1]
    }
    expect(await isLoaded()).toBe('0')
    writeFileSync(file, changed)
    await expect.poll(isLoaded).toBe('1')
    writeConfig(dir)
    gateway.process.kill('SIGHUP')
    await expect.poll(async () => (await wake(hookToken)).status).toBe(200)
    expect(await gateway.end('SIGTERM')).toBe(0)
  })
})
