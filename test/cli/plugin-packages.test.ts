// The commands `plugin add`, `plugin list` and `plugin remove`, with npm and packages that are files.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../helpers.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

const packed = fileURLToPath(new URL('../fixtures/svc-gateway-plugin-almanac-1.0.0.tgz', import.meta.url))
const almanac = 'svc-gateway-plugin-almanac'

const text = (plugins: string) => `{
  // The comments stay.
  plugins: [${plugins}],
  gateway: { auth: { token: 'token-of-the-gateway-0123456789' } }, // So does this one.
}
`

/** A registry without packages. npm asks it for the peer dependencies of a package, too. */
const registry = createServer((_request, response) => response.writeHead(404).end('{"error":"Not found"}'))

beforeAll(async () => {
  await once(registry.listen(0, '127.0.0.1'), 'listening')
  return () => void registry.close()
})

function start(plugins = '') {
  const dir = temporaryFolder()
  const file = join(dir, 'gateway.json5')
  writeFileSync(file, text(plugins), { mode: 0o600 })
  const env = { npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/` }
  const plugin = (...args: string[]) => run(dir, ['plugin', ...args, '--config', file], { env })
  /** For what imports no plugin that changes. */
  const pluginHere = (...args: string[]) => runHere(dir, ['plugin', ...args, '--config', file], { env })
  return { dir, file, plugin, pluginHere, config: () => readFileSync(file, 'utf8') }
}

/** Packs a package with this module. */
function pack(dir: string, { name, code, manifest = {} }: { name: string; code: string; manifest?: object }): string {
  const folder = join(dir, 'package')
  mkdirSync(folder, { recursive: true })
  const described = { name, version: '2.0.0', type: 'module', exports: './index.js', ...manifest }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(described))
  writeFileSync(join(folder, 'index.js'), code)
  execFileSync('tar', ['-czf', join(dir, `${name}.tgz`), '-C', dir, 'package'])
  return join(dir, `${name}.tgz`)
}

describe('plugin add', () => {
  it('installs a package without its scripts, adds it, lists and removes it', async () => {
    const { dir, file, plugin, pluginHere, config } = start()
    const added = await plugin('add', packed)
    expect(added).toMatchObject({ code: 0, stderr: '' })
    expect(added.stdout).toContain(`It is in \`plugins\` of ${file}. Restart the gateway to load it.`)
    expect(added.stdout).toContain('The channel almanac-post: set channels.almanac-post (url, token).')
    expect(config()).toBe(text(`'${almanac}'`))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(existsSync(join(dir, 'node_modules', almanac, 'scripts-ran'))).toBe(false)

    const extensions = [
      'channel almanac-post',
      'toolset almanac',
      'scheme almanac',
      'preset almanac-feed',
      'provider almanac-models',
      'command almanac',
    ]
    const listed = await plugin('list', '--json')
    expect(JSON.parse(listed.stdout)).toEqual({
      source: almanac,
      name: almanac,
      version: '1.0.0',
      extensions: extensions.map((one) => ({ kind: one.split(' ')[0], name: one.split(' ')[1] })),
    })
    expect((await pluginHere('list')).stdout).toBe(`${almanac}  ${almanac}  1.0.0  ${extensions.join(', ')}\n`)

    const removed = await plugin('remove', almanac, '--json')
    expect(JSON.parse(removed.stdout)).toEqual({ plugin: almanac, file, uninstalled: true })
    expect(config()).toBe(text(''))
    expect(existsSync(join(dir, 'node_modules', almanac))).toBe(false)
    expect(await plugin('list')).toEqual({ code: 0, stdout: '', stderr: 'There are no plugins to list.\n' })
  })

  it('refuses what the gateway would refuse, and leaves everything as it was', async () => {
    const { dir, plugin, config } = start()
    const code = `export default { kind: 'toolset', name: 'dice', description: 'Dice.', tools: [] }`
    const refused = await plugin('add', pack(dir, { name: 'plugin-dice', code }))
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The toolset "dice" from "plugin-dice" was refused: .* It was not added\.\n$/),
    })
    expect(config()).toBe(text(''))
    expect(existsSync(join(dir, 'node_modules', 'plugin-dice'))).toBe(false)
  })

  const dice = (settings: string) => `export default { kind: 'toolset', name: 'dice', description: 'Dice.',
      config: { type: 'object', ${settings} },
      open: async () => ({ tools: [], close: async () => undefined }) }`

  it.each([
    [
      'an update that the gateway refuses',
      { code: dice('properties: {}'), manifest: { engines: { 'svc-gateway': '>=9' } } },
      /was refused: plugin-dice 2\.1\.0 needs svc-gateway >=9, .* Version 2\.0\.0 stays\.\n$/,
    ],
    [
      'an update that the configuration does not fit',
      { manifest: {}, code: dice("required: ['seed'], properties: { seed: { type: 'number' } }") },
      /^The configuration does not fit plugin-dice 2\.1\.0: line 3: tools\.dice\.seed is required; change it, .* Version 2\.0\.0 stays\.\n$/,
    ],
  ])('refuses %s, and puts the version before it back', async (_what, update, sentence) => {
    const { dir, file, plugin } = start()
    const code = dice("properties: { sides: { type: 'number' } }")
    expect(await plugin('add', pack(dir, { name: 'plugin-dice', code }))).toMatchObject({ code: 0 })
    writeFileSync(file, text("'plugin-dice'").replace('plugins:', 'tools: { dice: { sides: 6 } }, plugins:'))
    const files = ['package.json', 'package-lock.json', 'node_modules/plugin-dice/index.js']
    const read = () => files.map((path) => readFileSync(join(dir, path), 'utf8'))
    const before = read()
    const next = { name: 'plugin-dice', ...update, manifest: { version: '2.1.0', ...update.manifest } }
    const refused = await plugin('add', pack(dir, next))
    expect(refused).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(sentence) })
    expect(read()).toEqual(before)
    expect(readdirSync(dir).filter((name) => name.startsWith('.packages'))).toEqual([])
    expect((await runHere(dir, ['check', '--config', file])).stdout).toMatch(/^ok$/m)
  })

  it('says which tools are left out because their names are taken, and so does check', async () => {
    const { dir, file, plugin } = start()
    const code = `const tool = { name: 'web_fetch', description: 'x', args: { type: 'object' }, execute: () => 1 }
      export default [
        { kind: 'toolset', name: 'dice', description: 'Dice.', tools: [tool] },
        { kind: 'toolset', name: 'later', description: 'Later.', expected: () => [{ name: 'exec' }],
          config: { type: 'object', required: ['x'], properties: { x: { type: 'number' } } },
          open: async () => ({ tools: [], close: async () => undefined }) },
      ]`
    writeFileSync(file, text('').replace('plugins:', 'tools: { later: { x: 1 } }, plugins:'))
    const added = await plugin('add', pack(dir, { name: 'plugin-dice', code }))
    const sentence = (name: string, [owner, toolset]: readonly [string, string]) =>
      `tools.rename leaves two tools with the name "${name}", of the toolsets "${owner}" and "${toolset}", so the second`
    const sentences = [sentence('web_fetch', ['web', 'dice']), sentence('exec', ['exec', 'later'])]
    const checked = await runHere(dir, ['check', '--config', file])
    const examined = await runHere(dir, ['plugin', 'check', join(dir, 'node_modules', 'plugin-dice')])
    for (const one of sentences) for (const shown of [added.stdout, checked.stderr]) expect(shown).toContain(one)
    for (const name of ['web_fetch', 'exec']) expect(examined.stderr).toContain(`already has a tool "${name}"`)
  })

  it('says which settings are required before it adds the entry', async () => {
    const { dir, plugin, config } = start()
    const code = `export default { kind: 'toolset', name: 'dice', description: 'Dice.',
      config: { type: 'object', required: ['sides'], properties: { sides: { type: 'number' } } },
      open: async () => ({ tools: [], close: async () => undefined }) }`
    const added = await plugin('add', pack(dir, { name: 'plugin-dice', code }))
    expect(added).toMatchObject({ code: 1, stderr: '"plugin-dice" is installed, but not in `plugins` yet.\n' })
    expect(added.stdout).toMatch(/together with these settings:\n {2}tools\.dice\.sides is required\n$/)
    expect(config()).toBe(text(''))
  })

  it.each([
    ['git+https://example.com/x.git', 'is not the name of an npm package'],
    ['./nothing.tgz', 'there is no such .tgz file or folder'],
  ])('refuses %s in one sentence', async (given, sentence) => {
    const { dir, pluginHere } = start()
    const refused = await pluginHere('add', given)
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) })
    expect(refused.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(existsSync(join(dir, 'package.json'))).toBe(false)
  })

  it('says in one sentence that the registry does not have the package', async () => {
    const { plugin } = start()
    for (const name of ['svc-gateway-plugin-dicee', '@acme/dice'])
      expect(await plugin('add', name)).toEqual({
        code: 1,
        stdout: '',
        stderr:
          `The registry of npm has no package "${name}" that you may read. Check the spelling; for a private registry, ` +
          'set it and its token in .npmrc; or give the path of a .tgz file or of a folder.\n',
      })
  })

  it('names the plugins there are when asked to remove another one', async () => {
    const { pluginHere, file } = start()
    expect(await pluginHere('remove', 'nothing')).toEqual({
      code: 1,
      stdout: '',
      stderr: `"nothing" is not in \`plugins\` of ${file}; "svc-gateway plugin list" shows what is.\n`,
    })
  })
})

describe('plugin list', () => {
  it('shows a problem beside the plugin that has it, whatever other plugins it names', async () => {
    const { dir, pluginHere } = start("'./one.mjs', './two.mjs'")
    const dice = `import { defineTool, defineToolset, Type } from 'svc-gateway/plugin'
      const roll = defineTool({ name: 'roll', description: 'Rolls.', args: Type.Object({}), execute: async () => 4 })
      export default defineToolset({ name: 'dice', description: 'Dice.', tools: [roll] })`
    for (const name of ['one', 'two']) writeFileSync(join(dir, `${name}.mjs`), dice)
    const { stdout } = await pluginHere('list', '--json')
    const [one, two] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { problems?: string[] })
    expect(one).not.toHaveProperty('problems')
    expect(two?.problems).toEqual([expect.stringContaining('"./one.mjs" already has one of that name')])
  })
})
