// The package as its users get it: the files that are published, in an empty folder, started, and used by a plugin.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { installPackage } from './install-package.ts'

interface Plugin {
  source: string
  extensions: { kind: string; name: string }[]
}

const dice = `import { clip } from 'svc-gateway/kit'
import { defineTool, defineToolset, InputError, type Static, Type } from 'svc-gateway/plugin'
const Args = Type.Object({ sides: Type.Integer() })
const roll = defineTool<Static<typeof Args>>({
  name: 'roll',
  description: 'Rolls a die.',
  args: Args,
  execute({ sides }) {
    if (sides === 1) throw new InputError('One side is not enough.')
    return clip(sides as never)
  },
})
export default defineToolset({ name: 'dice', description: 'Dice.', tools: [roll] })`

/** Writes the name of each source map that is read to standard error. */
const watchMaps = `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { readFileSync } = fs
fs.readFileSync = (file, ...options) => {
  if (String(file).endsWith('.map')) process.stderr.write('reads ' + file + '\\n')
  return readFileSync(file, ...options)
}
syncBuiltinESMExports()`

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
let dir: string
let command: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'package-'))
  await writeFile(join(dir, 'package.json'), '{ "private": true, "type": "module" }')
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root })
  const [packed] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  installPackage(dir, { files: packed.files.map(({ path }) => path) })
  command = join(dir, 'node_modules', '.bin', 'svc-gateway')
}, 60_000)
afterAll(() => rm(dir, { recursive: true }))

/** Starts the installed command in a new folder `home`; without a configuration, it writes one. */
async function start(home: string, config?: object, env: NodeJS.ProcessEnv = {}) {
  await mkdir(home)
  if (config) await writeFile(join(home, 'gateway.json5'), JSON.stringify(config), { mode: 0o600 })
  const child = spawn(command, ['--port', '0'], {
    cwd: home,
    env: { ...process.env, HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let log = ''
  child.stderr.on('data', (chunk) => (log += String(chunk)))
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /^listening on (http:\S+)$/.exec(line) ?? []
    if (url) return { child, url, log: () => log }
  }
  throw new Error('the command ended without listening')
}

describe('the installed package', () => {
  it('starts without a configuration, answers, and ends on SIGTERM', async () => {
    const { child, url } = await start(join(dir, 'home'))
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/hooks/wake`, { method: 'POST', body: '{}' })).status).toBe(401)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(await readdir(join(dir, 'home', '.svc-gateway'))).toEqual(expect.arrayContaining(['gateway.json5', 'state']))
  })

  it('loads its own extensions and a plugin, and names TypeScript sources in stack traces', async () => {
    await writeFile(join(dir, 'dice.ts'), dice)
    const token = 'token-of-the-gateway-0123456789'
    await writeFile(join(dir, 'watch-maps.mjs'), watchMaps)
    const config = { gateway: { auth: { token } }, plugins: [join(dir, 'dice.ts')] }
    const { url, log } = await start(join(dir, 'plugged'), config, {
      NODE_OPTIONS: `--import=${pathToFileURL(join(dir, 'watch-maps.mjs')).href}`,
    })
    const headers = { authorization: `Bearer ${token}` }
    const roll = async (sides: number) => {
      const body = JSON.stringify({ tool: 'roll', args: { sides } })
      const response = await fetch(`${url}/tools/invoke`, { method: 'POST', headers, body })
      return await response.json()
    }
    expect(await roll(1)).toMatchObject({ error: { type: 'invalid_arguments', message: 'One side is not enough.' } })
    // The plugin has been compiled. The maps of the whole program need some 25 MB.
    expect(log()).not.toContain('reads ')
    expect(await roll(0)).toMatchObject({ error: { type: 'tool_failed' } })
    expect(log()).toMatch(/^reads .*\.js\.map$/m)
    expect(log()).toMatch(/"reason":"TypeError","at":"clean \([^"]*\bcore\/kit\/text\.ts:\d+:\d+\)"/)
    const { plugins } = (await (await fetch(`${url}/api/extensions`, { headers })).json()) as { plugins: Plugin[] }
    const own = plugins
      .find(({ source }) => source === 'svc-gateway')
      ?.extensions.map(({ kind, name }) => `${kind} ${name}`)
    expect(own).toEqual(
      expect.arrayContaining([
        'channel console',
        'preset github',
        'provider builtin',
        'toolset sessions',
        'toolset mcp',
      ]),
    )
  })

  it('names the packages that the configured channels and presets need, in one line each', async () => {
    const home = join(dir, 'channels')
    const token = 'token-of-the-gateway-0123456789'
    const cloud = { accessToken: 'a-token', phoneNumberId: '1', verifyToken: 'a-word', appSecret: 'a-secret' }
    const channels = {
      telegram: { botToken: '1:abc' },
      // Nothing to install for these two.
      signal: { account: '+15550000001', httpUrl: 'http://127.0.0.1:9' },
      whatsapp: { accounts: { shop: { ...cloud, apiRoot: 'http://127.0.0.1:9' } } },
    }
    const watch = { account: 'ada@example.com', credentials: 'gmail.json' }
    const hooks = { enabled: true, token: 'token-of-the-hooks-0123456789', presets: ['gmail'], gmail: { watch } }
    const needed = 'needs the package grammy; run: npm i grammy@1.46.0'
    const neededByGmail =
      'needs the packages @googleapis/gmail and google-auth-library; ' +
      'run: npm i @googleapis/gmail@22.0.1 google-auth-library@11.3.4'
    const { url, log } = await start(home, { gateway: { auth: { token } }, channels, hooks })
    const checked = await run(command, ['check'], { cwd: home })
    expect(checked.stderr.match(/^.*npm i.*$/gm)).toEqual([
      expect.stringMatching(`^warning: line \\d+: channels\\.telegram ${needed}$`),
      expect.stringMatching(`^warning: line \\d+: hooks\\.gmail ${neededByGmail}$`),
    ])
    const response = await fetch(`${url}/api/channels`, { headers: { authorization: `Bearer ${token}` } })
    const { accounts } = (await response.json()) as { accounts: { channel: string; reason?: string }[] }
    expect(accounts.find(({ channel }) => channel === 'telegram')?.reason).toBe(`The channel "telegram" ${needed}`)
    expect(log().match(/^.*npm i .*$/gm)).toEqual([
      expect.stringContaining(`channels.telegram ${needed}`),
      expect.stringContaining(`hooks.gmail ${neededByGmail}`),
    ])
    expect(log()).not.toContain('gmail.json')
    expect(log()).not.toContain('baileys')
  })

  it('names the packages that traces need, in one line, and works without them', async () => {
    const home = join(dir, 'traces')
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
    const needed =
      'telemetry needs the packages @opentelemetry/api and @opentelemetry/sdk-node; ' +
      'run: npm i @opentelemetry/api@1.10.0 @opentelemetry/sdk-node@0.301.0'
    const { url, log } = await start(home, { gateway: { auth: { token: 'token-of-the-gateway-0123456789' } } }, env)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    await expect.poll(log).toContain(needed)
    const check = (variables: NodeJS.ProcessEnv) =>
      run(command, ['check'], { cwd: home, env: { ...process.env, ...variables } })
    expect((await check(env)).stderr).toBe(`warning: line 1: ${needed}\n`)
    expect((await check({ ...env, OTEL_SDK_DISABLED: 'true' })).stderr).toBe('')
    expect((await check({})).stderr).toBe('')
  })

  it('names the package that a PostgreSQL store needs and that is not installed', async () => {
    const home = join(dir, 'database')
    await mkdir(home)
    const config = { storage: { url: 'postgres://gateway@127.0.0.1:1/gateway' } }
    await writeFile(join(home, 'gateway.json5'), JSON.stringify(config), { mode: 0o600 })
    await expect(run(command, ['--port', '0'], { cwd: home, env: { ...process.env, HOME: home } })).rejects.toThrow(
      'storage.url needs the package "pg", which is not installed; run "npm install pg".',
    )
  })

  it('holds few files, the licences of bundled packages, and no tests but the contracts', async () => {
    const files = await readdir(join(dir, 'node_modules', 'svc-gateway', 'dist'), { recursive: true })
    expect(files).toEqual(expect.arrayContaining(['licenses', 'testing.js', 'runner.js']))
    // Each preset has a file with its samples.
    expect(files.filter((file) => /^[^/]+\.js$/.test(file)).length).toBeLessThan(160)
    expect(files).toContain('samples/github.js')
    expect(files.filter((file) => file.includes('.test.'))).toEqual([])
  })

  it('brings the templates of new plugins, transforms and completion scripts', async () => {
    const home = join(dir, 'templates')
    await mkdir(home)
    const call = (...args: string[]) => run(command, args, { cwd: home, env: { ...process.env, HOME: home } })
    for (const kind of ['channel', 'toolset', 'preset', 'provider', 'command'])
      expect((await call('plugin', 'new', `my-${kind}`, '--kind', kind)).stdout).toContain('  .gitignore\n')
    expect((await call('transform', 'new', 'orders')).stdout).toContain('  svc-gateway transform test orders.ts')
    expect((await call('completion', 'bash')).stdout).toContain('complete -F _svc_gateway svc-gateway')
    expect((await call('trigger', 'github', '--list-samples')).stdout).toContain('issue-opened\n')
  })

  it('runs transforms from the build, with the helpers that they import', async () => {
    const payload = join(dir, 'order.json')
    await writeFile(
      payload,
      JSON.stringify({
        order: 'A-17',
        currency: 'EUR',
        total: 5,
        lines: [{ sku: 'TEA', title: 'Tea\nin tins', quantity: 9, stock: 1 }],
      }),
    )
    const args = ['transform', 'test', 'order-lines.ts', '--payload', payload]
    const { stdout } = await run(process.execPath, [join(root, 'dist', 'main.js'), ...args], {
      cwd: root,
      env: { ...process.env, HOME: dir },
    })
    expect(JSON.parse(stdout)).toEqual([
      { action: 'wake', text: 'Order A-17 of 5.00 EUR, articles: 1', wakeMode: 'next-heartbeat' },
      expect.objectContaining({ message: expect.stringContaining('needs 9 of "Tea in tins" (TEA)') }),
    ])
  })

  it('has types for both entry points', async () => {
    const sources = {
      'dice.ts': dice,
      'five.ts': 'export default 5',
      'suites.ts': `import { channelContract, presetContract } from 'svc-gateway/testing'
        import channel from './five.ts'
        channelContract(channel, { wrong: true })`,
      'channel.ts': `import { defineChannel } from 'svc-gateway/plugin'\nexport default defineChannel({ name: 5 })`,
    }
    for (const [file, text] of Object.entries(sources)) await writeFile(join(dir, file), text)
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    const failed = await run(tsc, [...typeFlags, ...Object.keys(sources)], { cwd: dir }).catch(
      (error: unknown) => error,
    )
    const { stdout } = failed as { stdout: string }
    expect(stdout).toMatch(/^suites\.ts.*Argument of type 'number' is not assignable/m)
    expect(stdout).toMatch(/^channel\.ts.*Type 'number' is not assignable to type 'string'/m)
    expect(stdout).not.toMatch(/^(dice|five)\.ts/m)
  })
})

const typeFlags =
  '--noEmit --strict --module nodenext --target es2024 --skipLibCheck --allowImportingTsExtensions'.split(' ')

describe('an older Node', () => {
  it('gets one sentence that names the version it needs', async () => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.1.0' } })`
    const options = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, join(root, 'core', 'main.ts')]
    const failed = await run(process.execPath, options).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^svc-gateway needs Node\.js 24\.16 or newer; [^\n]+\n$/),
    })
  })
})
