// The versions that a plugin's package needs: packed by npm, installed, and refused by every command with one sentence.
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { loadExtensions } from '../../core/loader/registry.ts'
import { contractVersion } from '../../core/plugin/plugin.ts'
import { readVersion } from '../../core/version.ts'
import { run as runCommand } from '../cli/command-line.ts'
import { gatewayToken, startGatewayOn, temporaryFolder, writeConfig } from '../helpers.ts'
import { share } from '../share.ts'

const execute = promisify(execFile)

const dice = `import { defineToolset, Type } from 'svc-gateway/plugin'
const tool = { name: 'roll', description: 'Rolls.', args: Type.Object({}), execute: () => 1 }
export default defineToolset({ name: 'dice', description: 'Dice.', tools: [tool] })`

const fromFuture = `import { defineSpeech } from 'svc-gateway/plugin'
export default defineSpeech({ name: 'dice' })`

const npm = (dir: string, ...args: string[]) =>
  execute('npm', [...args, '--offline', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: dir })

const manifest = (name: string, needs: object) =>
  JSON.stringify({ name, version: '1.2.0', type: 'module', exports: './index.js', files: ['*.js'], ...needs })

/** Writes a package, packs it, and installs the tarball in the folder. */
async function installPacked(dir: string, name: string, { needs, code = dice }: { needs: object; code?: string }) {
  const source = join(temporaryFolder(), name)
  mkdirSync(source)
  writeFileSync(join(source, 'package.json'), manifest(name, needs))
  writeFileSync(join(source, 'index.js'), code)
  await npm(source, 'pack')
  const tarball = readdirSync(source).find((file) => file.endsWith('.tgz')) ?? ''
  // Forced, because npm refuses some of these packages, too. An operator can have them nevertheless.
  await npm(dir, 'install', '--force', '--legacy-peer-deps', join(source, tarball))
}

const peer = (range: string) => ({ peerDependencies: { 'svc-gateway': range } })

const versions = readVersion()

describe('an installed plugin that needs a newer gateway', () => {
  const installed = share(async () => {
    const dir = temporaryFolder()
    await installPacked(dir, 'plugin-x', { needs: peer('>=9'), code: fromFuture })
    return { dir, file: writeConfig(dir, { plugins: ['plugin-x'] }) }
  })
  const reason = `plugin-x 1.2.0 needs svc-gateway >=9, this is ${versions}`
  const sentence = `The plugin "plugin-x" was refused: ${reason}; update svc-gateway, or install an older version of plugin-x.`

  it('is refused by check', async () => {
    const { dir } = installed()
    expect(await runCommand(dir, ['check'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${sentence}\nA plugin cannot be used; see above.\n`,
    })
  })

  it('is refused by the start, and listed with its reason', async () => {
    const { get } = await startGatewayOn(installed().file)
    expect((await get('/api/extensions')).body.problems).toEqual([sentence])
  })

  it('is refused by doctor, with the fix', async () => {
    const { stdout } = await runCommand(installed().dir, ['doctor', '--offline', '--json'])
    const findings = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string })
    expect(findings.find(({ id }) => id === 'plugin_refused')).toEqual({
      id: 'plugin_refused',
      severity: 'error',
      where: 'plugins',
      problem: `The plugin "plugin-x" was refused: ${reason}.`,
      fix: 'Update svc-gateway, or install an older version of plugin-x.',
    })
  })
})

describe('an installed plugin that fits', () => {
  const installed = share(async () => {
    const dir = temporaryFolder()
    await installPacked(dir, 'plugin-y', { needs: { ...peer(`^${contractVersion}`), engines: { node: '>=24' } } })
    return { dir, file: writeConfig(dir, { plugins: ['plugin-y'] }) }
  })

  it('is named with its version in /api/extensions', async () => {
    const { get } = await startGatewayOn(installed().file)
    expect((await get('/api/extensions')).body.plugins).toMatchObject([
      { source: 'svc-gateway', name: 'svc-gateway', version: readVersion() },
      { source: 'plugin-y', name: 'plugin-y', version: '1.2.0', extensions: [{ kind: 'toolset', name: 'dice' }] },
    ])
  })

  it('is named with its version by check and doctor', async () => {
    const { dir } = installed()
    expect((await runCommand(dir, ['check'])).stdout).toBe('plugin-y 1.2.0: toolset dice (roll)\nok\n')
    const { stdout } = await runCommand(dir, ['doctor', '--offline'])
    expect(stdout).toContain('✓ The plugins can be loaded: plugin-y 1.2.0.\n')
  })
})

describe('the package of a plugin', () => {
  const load = async (entry: string, files: Record<string, string>) => {
    const dir = temporaryFolder()
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(join(dir, file, '..'), { recursive: true })
      writeFileSync(join(dir, file), text)
    }
    const extensions = await loadExtensions({ plugins: [entry], dir })
    extensions.close()
    return extensions
  }

  it.each<[what: string, needs: object, reason: string]>([
    [
      'an older contract',
      peer('<0.1.0'),
      `games 1.2.0 needs svc-gateway <0.1.0, this is ${versions}; install a newer version of games`,
    ],
    [
      'another Node.js',
      { engines: { node: '^99' } },
      `games 1.2.0 needs Node.js ^99, this is ${process.versions.node}; update Node.js, or install an older version of games`,
    ],
    [
      'another gateway in engines',
      { engines: { 'svc-gateway': '>=9' } },
      `games 1.2.0 needs svc-gateway >=9, this is ${versions}; update svc-gateway, or install an older version of games`,
    ],
    [
      'no versions',
      peer('nine\n\u001b[31m'),
      'games 1.2.0 needs svc-gateway "nine \\u001b[31m", which is no range of versions; correct its package.json',
    ],
  ])('in a folder beside the configuration that needs %s is refused', async (_what, needs, reason) => {
    const files = { 'games/package.json': manifest('games', needs), 'games/src/index.ts': dice }
    const { problems } = await load('./games/src/index.ts', files)
    expect(problems).toEqual([`The plugin "./games/src/index.ts" was refused: ${reason}.`])
  })

  it.each<[what: string, needs: object]>([
    ['any version', peer('*')],
    ['the version of this contract', peer(`^${contractVersion}`)],
    ['a version of the workspace', peer('workspace:^')],
    ['nothing', {}],
    ['nonsense', { peerDependencies: 5, engines: ['node'] }],
  ])('that needs %s is loaded', async (_what, needs) => {
    const files = { 'games/package.json': manifest('games', needs), 'games/index.ts': dice }
    const { problems, packages } = await load('./games/index.ts', files)
    expect(problems).toEqual([])
    expect(packages.get('./games/index.ts')).toMatchObject({ name: 'games', version: '1.2.0' })
  })

  it('is the one with a name, above a folder that only says which modules it holds', async () => {
    const { problems } = await load('games', {
      'node_modules/games/package.json': JSON.stringify({
        ...(JSON.parse(manifest('games', peer('>=9'))) as object),
        exports: './dist/index.js',
      }),
      'node_modules/games/dist/package.json': '{ "type": "module" }',
      'node_modules/games/dist/index.js': dice,
    })
    expect(problems).toEqual([expect.stringContaining('games 1.2.0 needs svc-gateway >=9')])
  })

  it('must be readable', async () => {
    const { problems } = await load('./games/index.ts', { 'games/package.json': '{ "name": ', 'games/index.ts': dice })
    expect(problems).toEqual([expect.stringMatching(/\(Error: .*games\/package\.json is not valid JSON\); fix it/)])
  })

  it('does not reach above node_modules', async () => {
    const { problems, packages } = await load('games', {
      'package.json': manifest('mine', peer('>=9')),
      'node_modules/games/index.mjs': dice,
      'node_modules/games/package.json': '{ "exports": "./index.mjs" }',
    })
    expect(problems).toEqual([])
    expect(packages.size).toBe(0)
  })
})

describe('a plugin for a newer contract that does not say so', () => {
  const load = async (file: string, code: string) => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'package.json'), manifest('plugin-x', peer('*')))
    writeFileSync(join(dir, file), code)
    const extensions = await loadExtensions({ plugins: [`./${file}`], dir })
    extensions.close()
    return extensions.problems
  }

  it.each([
    ['JavaScript', 'speech.js', fromFuture],
    ['TypeScript', 'speech.ts', fromFuture],
    ['TypeScript with a class', 'speech.ts', fromFuture.replace(/default .*/, 'class Mine extends defineSpeech {}')],
    [
      'TypeScript in a function',
      'speech.ts',
      `${fromFuture.replace(/default .*/, 'const mine = () => defineSpeech({})')}\n${dice}`,
    ],
    ['TypeScript with a field', 'speech.ts', fromFuture.replace(/default .*/, 'const mine = defineSpeech.version')],
  ])('in %s is refused with the versions', async (_what, file, code) => {
    expect(await load(file, code)).toEqual([
      `The plugin "./${file}" was refused: plugin-x 1.2.0 imports "defineSpeech", which svc-gateway/plugin does not have ` +
        `in version ${readVersion()}; update svc-gateway, or use a version of the plugin that was made for this one.`,
    ])
  })

  it.each([
    ['of a file', "import { roll } from './rules.ts'", /imports "roll", which ".\/rules\.ts" does not export/],
    ['of a file that it imports', "import './more.ts'", /more\.ts imports "roll", which ".\/rules\.ts" does not/],
    ['of Node', "import { readFileSink as roll } from 'node:fs'", /imports "readFileSink", which "node:fs" does not/],
  ])('in TypeScript is refused, %s', async (_what, line, sentence) => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'rules.ts'), 'export interface Rule { name: string }\nexport const rules: Rule[] = []')
    writeFileSync(join(dir, 'more.ts'), "import { roll } from './rules.ts'\nexport const more = () => roll()")
    const use = line.includes('roll') ? '\nexport const later = () => roll(1)' : ''
    const types = "import { Rule } from './rules.ts'\nexport { Rule as Again } from './rules.ts'"
    writeFileSync(join(dir, 'sound.ts'), `${types}\n${dice}\nexport const none: Rule[] = []`)
    writeFileSync(join(dir, 'dice.ts'), `${line}\n${dice}${use}`)
    const problemsOf = async (plugin: string) => {
      const { problems, close } = await loadExtensions({ plugins: [plugin], dir })
      close()
      return problems
    }
    expect(await problemsOf('./dice.ts')).toEqual([expect.stringMatching(sentence)])
    expect(await problemsOf('./sound.ts')).toEqual([])
  })

  it.each(['optional.mjs', 'optional.ts'])('may look for it in %s', async (file) => {
    const code = `import * as contract from 'svc-gateway/plugin'\nif (contract.defineSpeech) throw new Error('found')\n${dice}`
    expect(await load(file, code)).toEqual([])
  })

  it('is not blamed for another error of the plugin', async () => {
    expect(await load('broken.ts', `${dice}\nthrow new Error('boom')`)).toEqual([
      expect.stringContaining('importing it failed (Error: boom, at '),
    ])
  })
})

describe('a plugin that was packed for the contract 0.1.0', () => {
  it('is loaded with every kind of extension, and works', async () => {
    const dir = temporaryFolder()
    await npm(dir, 'install', fileURLToPath(new URL('../fixtures/plugin-contract-0.1.0.tgz', import.meta.url)))
    const file = writeConfig(dir, {
      plugins: ['svc-gateway-plugin-first-contract'],
      channels: { 'first-pager': { token: 'a-token', defaultTo: 'ops' } },
      hooks: { presets: ['first-shop'], 'first-shop': { auth: { secret: 's'.repeat(32) } } },
    })
    const { get, post } = await startGatewayOn(file)
    const { body } = await get('/api/extensions')
    expect(body.problems).toEqual([])
    expect(body.plugins[1].extensions.map(({ kind }: { kind: string }) => kind).toSorted()).toEqual([
      'channel',
      'command',
      'preset',
      'provider',
      'scheme',
      'toolset',
    ])
    const authorization = `Bearer ${gatewayToken}`
    const call = { tool: 'first_roll', args: { sides: 6 } }
    expect(await post('/tools/invoke', call, { authorization })).toMatchObject({
      status: 200,
      body: { result: { sides: 6, contractVersion } },
    })
    expect(await runCommand(dir, ['first-command'])).toEqual({ code: 0, stdout: `${contractVersion}\n`, stderr: '' })
  })
})

describe('the version of the contract', () => {
  it('is not newer than the gateway', async () => {
    const { default: semver } = await import('semver')
    expect(semver.lte(contractVersion, readVersion())).toBe(true)
  })
})
