// Tests the command `setup` without a terminal, where it asks nothing.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import JSON5 from 'json5'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startAnthropic } from '../doubles/anthropic.ts'
import { startGoogle } from '../doubles/google.ts'
import { startOpenAiChat } from '../doubles/openai.ts'
import { openTelegram } from '../doubles/telegram.ts'
import type { Wire } from '../doubles/wire.ts'
import { temporaryFolder } from '../helpers.ts'
import { program } from '../program.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'
import { startReachable } from './reachable-gateway.ts'

const key = 'sk-setup-key-0123456789abcdef'

async function startServer(start: () => Promise<Wire>, reply = 'Hello there.') {
  const server = await start()
  onTestFinished(() => server.close())
  server.otherwise({ text: reply })
  return server
}

async function startTelegram() {
  const telegram = await openTelegram()
  onTestFinished(() => telegram.close())
  return telegram
}

const read = (folder: string) => readFileSync(join(folder, 'gateway.json5'), 'utf8')
const parse = (folder: string) => JSON5.parse<Record<string, unknown>>(read(folder))
const written = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('gateway'))
const settings = (...texts: string[]) => texts.flatMap((text) => ['--set', text])

describe('svc-gateway setup with options', () => {
  it('tries the model and the channel, and writes what passes the check, without any secret', async () => {
    const [server, telegram, folder] = [await startServer(startOpenAiChat), await startTelegram(), temporaryFolder()]
    const { botToken, apiRoot } = telegram.config
    const env = { MODEL_KEY: key, TELEGRAM_BOT_TOKEN: botToken, GITHUB_WEBHOOK_SECRET: 'secret-of-github-0123' }
    const model = ['--model', 'double/vendor/m', '--base-url', `${server.url}/v1`, '--api-key-env', 'MODEL_KEY']
    const channel = ['--channel', 'telegram', ...settings(`channels.telegram.apiRoot=${apiRoot}`)]
    const more = settings('channels.telegram.allowFrom=42,43', 'channels.telegram.defaultTo=42', 'log.level=warn')
    const args = [...model, ...channel, ...more, '--preset', 'github', '--port', '18999', '--json']
    const done = await run(folder, ['setup', ...args], { env })

    expect(done).toMatchObject({ code: 0, stderr: '' })
    const file = join(folder, 'gateway.json5')
    expect(JSON.parse(done.stdout)).toEqual({
      file,
      model: 'double/vendor/m',
      test: { ms: expect.any(Number), reply: 'Hello there.' },
      channels: [{ name: 'telegram', state: 'connected' }],
      presets: ['github'],
      variables: ['GITHUB_WEBHOOK_SECRET', 'TELEGRAM_BOT_TOKEN', 'MODEL_KEY'],
      warnings: [],
      next: {
        start: `npm start -- start --config ${file}`,
        check: `npm start -- check --config ${file}`,
        send: expect.stringContaining(`npm start -- trigger agent --config ${file} --data `),
        login: [],
      },
    })
    expect(server.requests.map(({ headers, body }) => [headers.authorization, body['model']])).toEqual([
      [`Bearer ${key}`, 'vendor/m'],
    ])
    expect(parse(folder)).toMatchObject({
      gateway: { port: 18999 },
      log: { level: 'warn' },
      hooks: { presets: ['github'], github: { auth: { secret: '${GITHUB_WEBHOOK_SECRET}' } } },
      channels: { telegram: { botToken: '${TELEGRAM_BOT_TOKEN}', allowFrom: ['42', '43'], defaultTo: '42' } },
      providers: { double: { apiKey: '${MODEL_KEY}' } },
    })
    for (const secret of Object.values(env)) expect(read(folder) + done.stdout).not.toContain(secret)
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    expect(await run(folder, ['check', '--strict'], { env })).toEqual({ code: 0, stdout: 'ok\n', stderr: '' })
    await telegram.deserted()
  })

  it('prints commands that work', async () => {
    const [server, folder] = [await startServer(startOpenAiChat), temporaryFolder()]
    const args = ['--model', 'double/m', '--base-url', `${server.url}/v1`, '--port', '0', '--json']
    const { next } = JSON.parse((await run(folder, ['setup', ...args])).stdout) as { next: Record<string, string> }
    await startReachable(join(folder, 'gateway.json5'))
    const inShell = async (command = '') =>
      await promisify(execFile)('sh', ['-c', command.replace('npm start --', `'${process.execPath}' '${program}'`)])
    expect((await inShell(next['check'])).stdout).toBe('ok\n')
    expect(JSON.parse((await inShell(next['send'])).stdout)).toMatchObject({
      status: 'succeeded',
      reply: 'Hello there.',
    })
  })

  it.each([
    { kind: 'anthropic', variable: 'ANTHROPIC_API_KEY', start: startAnthropic, header: 'x-api-key', path: '/v1' },
    { kind: 'google', variable: 'GEMINI_API_KEY', start: startGoogle, header: 'x-goog-api-key', path: '/v1beta' },
  ])('uses $variable for the provider $kind', async ({ kind, variable, start, header, path }) => {
    const [server, folder] = [await startServer(start), temporaryFolder()]
    const args = ['setup', '--yes', '--model', `${kind}/some-model`, '--base-url', server.url + path]
    const done = await runHere(folder, args, { env: { [variable]: key } })
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toMatch(new RegExp(`^${kind}/some-model replied in [\\d.]+ s: Hello there\\.$`, 'm'))
    expect(done.stdout).toContain(`The gateway reads these variables at its start: ${variable}.`)
    expect(server.requests[0]?.headers[header]).toBe(key)
    expect(parse(folder)['providers']).toEqual({
      [kind]: { kind, apiKey: `\${${variable}}`, baseUrl: server.url + path },
    })
  })

  it('writes nothing when the model or the channel fails, unless it may not try them', async () => {
    const [server, telegram, folder] = [await startServer(startOpenAiChat), await startTelegram(), temporaryFolder()]
    server.script({ status: 401, body: { error: { message: `Incorrect API key provided: ${key}` } } })
    const model = ['setup', '--model', 'double/m', '--base-url', `${server.url}/v1`, '--api-key-env', 'MODEL_KEY']
    const { botToken, apiRoot } = telegram.badConfig as typeof telegram.config
    const channel = ['--channel', 'telegram', ...settings(`channels.telegram.apiRoot=${apiRoot}`)]
    const env = { MODEL_KEY: key, TELEGRAM_BOT_TOKEN: botToken }

    const refusedKey = await runHere(folder, model, { env })
    expect(refusedKey).toMatchObject({ code: 1, stdout: '' })
    expect(refusedKey.stderr).toMatch(
      /^double\/m did not reply\. The model's service refused the credential \(401\); .+ Nothing was written; .+\n$/,
    )
    expect(refusedKey.stderr).not.toContain(key)
    expect(await runHere(folder, [...model, ...channel], { env })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'telegram did not connect. Telegram refuses the bot token. Copy it again from @BotFather into ' +
        'botToken. Nothing was written; fix this, or add --no-test to write the file nevertheless.\n',
    })
    expect(written(folder)).toEqual([])
    const requests = server.requests.length
    expect(await runHere(folder, [...model, ...channel, '--no-test'], { env })).toMatchObject({ code: 0, stderr: '' })
    expect(server.requests.length).toBe(requests)
    expect(written(folder)).toEqual(['gateway.json5'])
  })

  it('counts a channel as connected that catches up before its connect returns, and stores nothing', async () => {
    const folder = temporaryFolder()
    const plugin = `import { appendFileSync } from 'node:fs'
      import { defineChannel, Type } from 'svc-gateway/plugin'
      const told = (text) => appendFileSync('told', text)
      export default defineChannel({
        name: 'pager', description: 'Pages.', config: Type.Object({}), target: Type.String(),
        limits: { maxText: 100, idempotency: 'none' },
        connect: async (config, { receive }) => {
          await receive({ id: '1', from: { id: 'ann' }, to: 'ann', text: 'Hello' }).then(
            () => told('stored'), (error) => { told('not stored'); throw error })
          return { send: async () => ({ status: 'sent' }), close: async () => {} }
        },
      })`
    writeFileSync(join(folder, 'pager.mjs'), plugin)
    const args = ['setup', '--channel', 'pager', ...settings('plugins=./pager.mjs')]
    const { code, stdout, stderr } = await runHere(folder, [...args, '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ channels: [{ name: 'pager', state: 'connected' }] })
    expect(readFileSync(join(folder, 'told'), 'utf8')).toBe('not stored')
  })

  it('loads a plugin, reads a secret from a file, and says which package a channel lacks', async () => {
    const folder = temporaryFolder()
    const plugin = `import { defineChannel, Type } from 'svc-gateway/plugin'
export default defineChannel({ name: 'pager', description: 'Pages.', limits: { maxText: 100, idempotency: 'none' },
  config: Type.Object({ pin: Type.String({ secret: true }) }), target: Type.String(),
  packages: () => ({ 'no-such-package': '1.0.0' }), connect: async () => { throw new Error('connected') } })`
    writeFileSync(join(folder, 'pager.mjs'), plugin)
    writeFileSync(join(folder, 'pin'), 'pin-of-the-pager\n')
    const args = settings('plugins=./pager.mjs', 'channels.pager.pin={ file: "pin" }')
    const done = await runHere(folder, ['setup', ...args])
    expect(done.stdout).toContain(
      'pager was not tried. The channel needs the package no-such-package; run: npm i no-such-package@1.0.0\n',
    )
    expect(parse(folder)).toMatchObject({ plugins: ['./pager.mjs'], channels: { pager: { pin: { file: 'pin' } } } })
    expect(await runHere(folder, ['check'])).toMatchObject({ code: 0, stdout: './pager.mjs: channel pager\nok\n' })
  })

  it('offers the provider of a plugin as the built-in ones: its key, and its server on this machine', async () => {
    const folder = temporaryFolder()
    const plugin = `import { defineProvider, Type } from 'svc-gateway/plugin'
export default defineProvider({ name: 'house-models', description: 'Our models.',
  config: Type.Object({ apiKey: Type.Optional(Type.String()), baseUrl: Type.Optional(Type.String()) }),
  service: { title: 'House', keyVariables: ['HOUSE_KEY'], model: 'large' },
  localServers: [{ name: 'attic', title: 'Attic', baseUrl: 'http://127.0.0.1:1/v1' }],
  models: async () => () => { throw new Error('no model') } })`
    writeFileSync(join(folder, 'house.mjs'), plugin)
    const set = (model: string, env: Record<string, string>) =>
      runHere(folder, ['setup', '--no-test', '--force', '--model', model, ...settings('plugins=./house.mjs')], { env })
    expect((await set('house-models/large', {})).stderr).toContain(
      'The provider house-models needs an API key; set HOUSE_KEY, or name another variable',
    )
    expect(await set('house-models/large', { HOUSE_KEY: key })).toMatchObject({ code: 0, stderr: '' })
    expect(parse(folder)['providers']).toEqual({ 'house-models': { kind: 'house-models', apiKey: '${HOUSE_KEY}' } })
    expect(await set('attic/large', { HOUSE_KEY: key })).toMatchObject({ code: 0, stderr: '' })
    expect(parse(folder)['providers']).toEqual({
      attic: { kind: 'house-models', apiKey: '${HOUSE_KEY}', baseUrl: 'http://127.0.0.1:1/v1' },
    })
  })

  it('keeps the file that --force replaces', async () => {
    const folder = temporaryFolder()
    const before = '{ gateway: { port: 1111 } }'
    writeFileSync(join(folder, 'gateway.json5'), before, { mode: 0o600 })
    expect((await runHere(folder, ['setup', '--force', '--port', '2222'])).stdout).toMatch(/^Kept the old file as /)
    const [, kept = ''] = written(folder)
    expect(kept).toMatch(/^gateway\.json5\.before-setup-\d{8}T\d{6}Z$/)
    expect(readFileSync(join(folder, kept), 'utf8')).toBe(before)
    expect(parse(folder)).toMatchObject({ gateway: { port: 2222 } })
  })

  it.each([
    [['--model', 'nobody/m'], '--model names the provider "nobody", which is not known; give --base-url'],
    [['--provider', 'antropic', '--model', 'a/m'], 'is not a provider; did you mean "anthropic"?'],
    [['--model', 'openai/m'], 'The provider openai needs an API key; set OPENAI_API_KEY, or name another variable'],
    [['--model', 'openai/m', '--api-key-env', 'MY_KEY'], 'the environment variable MY_KEY, which is not set'],
    [['--base-url', 'http://127.0.0.1/v1'], '--base-url has no effect without a model; add --model'],
    [['--channel', 'telgram'], '--channel names the channel "telgram", which does not exist; did you mean "telegram"?'],
    [['--channel', 'telegram'], 'channels.telegram.botToken is required; add --set channels.telegram.botToken=…'],
    [settings('gateway.port=high'), 'gateway.port must be a whole number'],
    [settings('secret-0123'), '--set must be <key>=<value>, such as --set gateway.port=8080.'],
    [settings('plugins=./missing.ts'), 'The plugin "./missing.ts" was refused'],
  ])('refuses %j', async (args, message) => {
    const folder = temporaryFolder()
    const done = await runHere(folder, ['setup', ...args])
    expect(done).toMatchObject({ code: 1, stdout: '' })
    expect(done.stderr.trim().split('\n')).toEqual([expect.stringContaining(message)])
    expect(done.stderr).not.toContain('secret-0123')
    expect(written(folder)).toEqual([])
  })
})
