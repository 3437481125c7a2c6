// The package as its users get it: packed, installed into an empty folder, started, and used to write a plugin against.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'package-'))
  await writeFile(join(dir, 'package.json'), '{ "private": true, "type": "module" }')
  await run('npm', ['pack', '--pack-destination', dir, root])
  const tarball = (await readdir(dir)).find((name) => name.endsWith('.tgz')) ?? ''
  await run(
    'npm',
    ['install', '--prefer-offline', '--omit=optional', '--omit=peer', '--no-audit', '--no-fund', join(dir, tarball)],
    { cwd: dir },
  )
}, 120_000)
afterAll(() => rm(dir, { recursive: true }))

/** Starts the installed command; its first run writes a configuration into `home`. */
async function start(home: string) {
  await mkdir(home)
  const child = spawn(join(dir, 'node_modules', '.bin', 'svc-gateway'), ['--port', '0'], {
    cwd: home,
    env: { ...process.env, HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  for await (const line of lines) {
    const [, url] = /^listening on (http:\S+)$/.exec(line) ?? []
    if (url) return { child, url }
  }
  throw new Error('it ended without listening')
}

describe('the installed package', () => {
  it('starts without a configuration, answers, and ends when it is told to', async () => {
    const { child, url } = await start(join(dir, 'home'))
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/hooks/wake`, { method: 'POST', body: '{}' })).status).toBe(401)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(await readdir(join(dir, 'home', '.svc-gateway'))).toEqual(expect.arrayContaining(['gateway.json5', 'state']))
  })

  it('has all of its parts, and takes a plugin', async () => {
    await writeFile(
      join(dir, 'dice.ts'),
      `import { defineTool, defineToolset, InputError, type Static, Type } from 'svc-gateway/plugin'
       const Args = Type.Object({ sides: Type.Integer() })
       const roll = defineTool<Static<typeof Args>>({ name: 'roll', description: 'Rolls.', args: Args, execute: ({ sides }) => { throw new InputError(String(sides)) } })
       export default defineToolset({ name: 'dice', description: 'Dice.', tools: [roll] })`,
    )
    await writeFile(
      join(dir, 'load.mjs'),
      `import { loadExtensions } from './node_modules/svc-gateway/dist/core/loader/registry.js'
       import { InputError } from 'svc-gateway/plugin'
       const log = { debug() {}, info() {}, warn() {}, error() {} }
       const { channels, toolsets, problems } = await loadExtensions({ plugins: ['./dice.ts'], dir: import.meta.dirname, log })
       let thrown
       try { toolsets.get('dice').tools[0].execute({ sides: 6 }) } catch (error) { thrown = error instanceof InputError }
       console.log(JSON.stringify({ channels: [...channels.keys()], thrown, problems }))`,
    )
    const { stdout } = await run(process.execPath, ['load.mjs'], { cwd: dir })
    expect(JSON.parse(stdout)).toEqual({ channels: expect.arrayContaining(['console']), thrown: true, problems: [] })
  })

  it('runs transforms from the build', async () => {
    const payload = join(dir, 'order.json')
    await writeFile(
      payload,
      '{ "order": "A-17", "currency": "EUR", "total": 5, "lines": [{ "sku": "TEA", "title": "Tea", "quantity": 1, "stock": 9 }] }',
    )
    const args = ['transform', 'test', 'order-lines.ts', '--payload', payload]
    const { stdout } = await run(process.execPath, [join(root, 'dist', 'core', 'main.js'), ...args], {
      cwd: root,
      env: { ...process.env, HOME: dir },
    })
    expect(JSON.parse(stdout)).toEqual([
      { action: 'wake', text: 'Order A-17 of 5.00 EUR, articles: 1', wakeMode: 'next-heartbeat' },
    ])
  })

  it('types what a plugin needs', async () => {
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--types',
      '',
      '--skipLibCheck',
    ]
    await run(join(root, 'node_modules', '.bin', 'tsc'), [...flags, 'dice.ts'], { cwd: dir })
    await writeFile(
      join(dir, 'wrong.ts'),
      `import { defineChannel } from 'svc-gateway/plugin'\nexport default defineChannel({ name: 5 })`,
    )
    await expect(
      run(join(root, 'node_modules', '.bin', 'tsc'), [...flags, 'wrong.ts'], { cwd: dir }),
    ).rejects.toMatchObject({
      stdout: expect.stringContaining("Type 'number' is not assignable to type 'string'"),
    })
  })
})

describe('an older Node', () => {
  it('is told in one sentence what is needed', async () => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.1.0' } })`
    const options = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, join(root, 'core', 'main.ts')]
    const failed = await run(process.execPath, options).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^svc-gateway needs Node\.js 24\.15 or newer; [^\n]+\n$/),
    })
  })
})
