// Plugins as users get them: packed by npm, installed into an empty folder, loaded and used.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadExtensions } from '../../core/loader/registry.ts'
import type { Channel, ChannelContext, InboundMessage, Tool } from '../../core/plugin/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import { channelContract, createTestContext, toolsetContract } from '../contracts.ts'
import { readText } from '../read-text.ts'
import { openMailbox } from '../doubles/mailbox.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const plugins = ['svc-gateway-plugin-dice', 'svc-gateway-plugin-pager']

const dir = await mkdtemp(join(tmpdir(), 'plugins-'))
await installFixtures(dir)
const extensions = await loadExtensions({ plugins, dir, log: createTestContext().log })
afterAll(async () => {
  extensions.close()
  await rm(dir, { recursive: true })
})

describe('installed plugins', () => {
  it('are loaded next to the built-in extensions', () => {
    expect(extensions.problems).toEqual([])
    expect(extensions.sources.get(extensions.toolsets.get('dice')!)).toBe('svc-gateway-plugin-dice')
    expect(extensions.sources.get(extensions.channels.get('pager')!)).toBe('svc-gateway-plugin-pager')
    expect(extensions.sources.get(extensions.channels.get('console')!)).toBe('svc-gateway')
  })

  it('cache compiled TypeScript where only the owner can write', async () => {
    const cache = join(dir, 'state', 'jiti')
    expect((await stat(cache)).mode & 0o777).toBe(0o700)
    expect(await readdir(cache)).not.toEqual([])
  })

  it('are loaded where compiled code cannot be kept', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'state'), 'A file where the folder should be.')
    await writeFile(
      join(folder, 'empty.ts'),
      "export default { kind: 'toolset', name: 'empty', description: 'No tools.', open: async () => ({ tools: [] as never[], close: async () => undefined }) }",
    )
    const loaded = await loadExtensions({ plugins: ['./empty.ts'], dir: folder, log: createTestContext().log })
    onTestFinished(() => loaded.close())
    expect(loaded.problems).toEqual([])
    expect(loaded.toolsets.has('empty')).toBe(true)
  })

  it('throw the InputError of the gateway that runs them', async () => {
    const tool = extensions.toolsets.get('dice')!.tools![0] as Tool<{ sides: number }>
    expect(() => tool.execute({ sides: 1001 }, {} as never)).toThrow(
      expect.objectContaining({ name: 'InputError', message: 'a die has at most 1000 sides' }),
    )
  })
})

toolsetContract(extensions.toolsets.get('dice')!, {
  calls: [
    { tool: 'roll', args: { sides: 6 }, answer: { pips: 6 } },
    { tool: 'roll', args: { sides: 6, luck: 'worst' }, answer: { pips: 1 } },
  ],
  refused: [
    { tool: 'roll', args: {} },
    { tool: 'roll', args: { sides: 'six' } },
    { tool: 'roll', args: { sides: 6, luck: 'some' } },
  ],
})

channelContract(extensions.channels.get('pager')!, openMailbox, {
  without: ['answer', 'edit', 'forward', 'hideId', 'rename', 'sayInThread'],
})

describe('an installed channel', () => {
  it('gives the gateway the files of a message', async () => {
    const files = [{ name: 'plan.txt', type: 'text/plain', path: '/files/plan' }]
    const feed = JSON.stringify([{ number: 1, from: 'ann', text: '', files }])
    const server = createServer(({ url }, response) => {
      if (url === '/files/plan') response.end('All is well.')
      else if (url !== '/feed?after=1') response.end(url === '/account' ? '' : feed)
    })
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const config = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'any' }
    const received = Promise.withResolvers<InboundMessage>()
    const receive: ChannelContext['receive'] = async (message) => {
      received.resolve(message)
      return 'accepted'
    }
    const context = { ...createTestContext(), accountId: 'default', receive, lost: received.reject }
    const connection = await (extensions.channels.get('pager') as Channel).connect(config, context)
    const [file] = (await received.promise).attachments ?? []
    expect(file).toMatchObject({ name: 'plan.txt', type: 'text/plain' })
    expect(await readText(file!)).toBe('All is well.')
    context.abort()
    await connection.close()
  })
})

describe('the schemas of @sinclair/typebox', () => {
  it('are checked like any other', () => {
    expect(compileCheck(extensions.channels.get('pager')!.config).problems({ url: 5, token: 'any' })).toMatchObject([
      { path: 'url', problem: 'must be a string' },
    ])
    expect(compileCheck(extensions.channels.get('pager')!.target).fits('OPS')).toBe(false)
  })
})

/** Packs the fixtures and the two versions of TypeBox that they need, and installs all of them without a network. */
async function installFixtures(folder: string): Promise<void> {
  const packages = [
    'test/fixtures/plugin-typebox',
    'test/fixtures/plugin-sinclair',
    'node_modules/typebox',
    'node_modules/@sinclair/typebox',
  ]
  const tarballs = join(folder, 'tarballs')
  await mkdir(tarballs)
  await run('npm', [
    'pack',
    '--ignore-scripts',
    '--pack-destination',
    tarballs,
    ...packages.map((path) => join(root, path)),
  ])
  const files = (await readdir(tarballs)).map((name) => join(tarballs, name))
  await run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', ...files], { cwd: folder })
}
