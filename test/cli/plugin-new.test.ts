// Tests the command `plugin new`: each kind of plugin passes its own tests and type check, and the gateway loads it.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import JSON5 from 'json5'
import { describe, expect, it, onTestFinished } from 'vitest'
import { merge } from '../contracts/merge.ts'
import { baseDocument, type Document, temporaryFolder, writeConfig } from '../helpers.ts'
import { developmentPackages, installPackage } from '../install-package.ts'
import { share } from '../share.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const kinds = ['channel', 'toolset', 'preset', 'provider', 'command']
const panelOf = (kind: string) => (['channel', 'toolset', 'preset'].includes(kind) ? ['--panel'] : [])
const execute = promisify(execFile)

const shared = share(async () => {
  const dir = temporaryFolder()
  installPackage(dir, { others: developmentPackages })
  symlinkSync(join(root, 'node_modules', '.bin', 'vitest'), join(dir, 'node_modules', '.bin', 'vitest'))
  const written = await Promise.all(
    kinds.map((kind) => runHere(dir, ['plugin', 'new', `my-${kind}`, '--kind', kind, ...panelOf(kind)])),
  )
  return { dir, written }
})

const folderOf = (kind: string) => `svc-gateway-plugin-my-${kind}`

/** Runs `plugin check --test` over a package whose script `test` is another one meanwhile. */
async function checkWith(kind: string, test: string) {
  const { dir } = shared()
  const file = join(dir, folderOf(kind), 'package.json')
  const text = readFileSync(file, 'utf8')
  const manifest = JSON.parse(text) as { scripts: object }
  writeFileSync(file, JSON.stringify({ ...manifest, scripts: { ...manifest.scripts, test } }))
  try {
    return await runHere(dir, ['plugin', 'check', folderOf(kind), '--test', '--strict'])
  } finally {
    writeFileSync(file, text)
  }
}

const { PATH, NODE_COMPILE_CACHE } = process.env
const env = { PATH, NODE_COMPILE_CACHE, HOME: '/nonexistent', NO_COLOR: '1' }

describe('svc-gateway plugin new', () => {
  it('writes a package of each kind, and says what to do next', () => {
    const { dir, written } = shared()
    for (const [index, kind] of kinds.entries()) {
      const folder = join(dir, folderOf(kind))
      expect(written[index]).toMatchObject({ code: 0, stderr: '' })
      expect(written[index]?.stdout).toContain(`add './${folderOf(kind)}/src/index.ts' to \`plugins\``)
      const listed = Array.from(written[index]?.stdout.matchAll(/^ {2}(\S+)$/gm) ?? [], ([, path = '']) => path)
      const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
      expect(listed.toSorted()).toEqual(
        files.map((one) => join(one.parentPath, one.name).slice(folder.length + 1)).toSorted(),
      )
      const texts = listed.map((path) => readFileSync(join(folder, path), 'utf8'))
      expect(listed.includes('src/panel/index.html')).toBe(panelOf(kind).length > 0)
      expect(texts.filter((text) => /PACKAGE|plugin[-_]name|Plugin Name|PLUGIN_NAME/.test(text))).toEqual([])
      expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
        name: folderOf(kind),
        type: 'module',
        scripts: { test: 'vitest run', check: 'tsc' },
        peerDependencies: { 'svc-gateway': '^0.1.0' },
      })
    }
  })

  it('writes packages whose tests pass, which makes them gold', { timeout: 180_000 }, async () => {
    const { dir } = shared()
    const vitest = join(root, 'node_modules', '.bin', 'vitest')
    const report = join(dir, 'suites.jsonl')
    // One process that loads the gateway once, for speed.
    const { stdout } = await execute(vitest, ['run', '--no-isolate', '--maxWorkers=1'], {
      cwd: dir,
      env: { ...env, SVC_GATEWAY_SUITE_REPORT: report },
    })
    expect(stdout).toMatch(/Test Files +5 passed \(5\)/)

    const repeat = `node -e 'fs.copyFileSync(\`${report}\`, process.env.SVC_GATEWAY_SUITE_REPORT)'`
    const gold = { code: 0, stdout: expect.stringContaining('\nok, gold: '), stderr: '' }
    for (const kind of kinds) expect(await checkWith(kind, repeat)).toMatchObject(gold)
    expect((await checkWith('toolset', 'vitest run -t declared')).stdout).toMatch(
      /\nok, bronze: .*\nNot proven: .*\nFor silver:\n {2}Let all tests of the toolset "my-toolset" run and pass\.\n/,
    )
  })

  it('writes packages without an error of types', async () => {
    const { dir } = shared()
    const [first = '', ...others] = kinds.map(folderOf)
    // All have the same settings, so one process can check them.
    const settings = readFileSync(join(dir, first, 'tsconfig.json'), 'utf8')
    expect(others.map((one) => readFileSync(join(dir, one, 'tsconfig.json'), 'utf8'))).toEqual(
      others.map(() => settings),
    )
    writeFileSync(join(dir, 'tsconfig.json'), settings.replace('"src", "test"', '"svc-gateway-plugin-*/**/*"'))
    const wrong = join(dir, first, 'src', 'wrong.ts')
    writeFileSync(wrong, 'export const wrong: string = 5')
    onTestFinished(() => rmSync(wrong))
    // This error shows that there was a check. It must be the only one.
    await expect(execute(join(root, 'node_modules', '.bin', 'tsc'), [], { cwd: dir, env })).rejects.toMatchObject({
      stdout: expect.stringMatching(/^\S+\/src\/wrong\.ts\(1,14\): .+\n$/),
    })
  })

  it('writes packages that the gateway loads with the settings of their READMEs', async () => {
    const { dir } = shared()
    const readmes = kinds.map((kind) => readFileSync(join(dir, folderOf(kind), 'README.md'), 'utf8'))
    const settings = readmes.map((text) => JSON5.parse<Document>(/```json5\n([^]*?)```/.exec(text)?.[1] ?? ''))
    const plugins = kinds.map((kind) => `./${folderOf(kind)}/src/index.ts`)
    const file = writeConfig(dir, { ...settings.reduce(merge, baseDocument), plugins })
    const secrets = {
      MY_CHANNEL_TOKEN: 'a',
      MY_TOOLSET_TOKEN: 'b',
      MY_PRESET_SECRET: 'c'.repeat(32),
      HOOK_TOKEN: 'd'.repeat(32),
    }
    expect(await runHere(dir, ['check', '--config', file], { env: secrets })).toMatchObject({
      code: 0,
      stdout: [
        './svc-gateway-plugin-my-channel/src/index.ts (svc-gateway-plugin-my-channel 0.1.0): channel my-channel',
        './svc-gateway-plugin-my-toolset/src/index.ts (svc-gateway-plugin-my-toolset 0.1.0): toolset my-toolset (more when it is opened)',
        './svc-gateway-plugin-my-preset/src/index.ts (svc-gateway-plugin-my-preset 0.1.0): preset my-preset, scheme my-preset',
        './svc-gateway-plugin-my-provider/src/index.ts (svc-gateway-plugin-my-provider 0.1.0): provider my-provider',
        './svc-gateway-plugin-my-command/src/index.ts (svc-gateway-plugin-my-command 0.1.0): command my-command',
        'ok\n',
      ].join('\n'),
    })
  })

  it.each([
    ['Weather', 'toolset', 'The toolset cannot be called "Weather": its name must be lower-case letters'],
    ['2fa', 'toolset', 'The toolset cannot be called "2fa": its name must begin with a letter'],
    ['last', 'channel', 'The channel cannot be called "last": the name "last" is reserved'],
    ['teams', 'channel', 'The channel cannot be called "teams": a built-in channel has that name'],
    ['github', 'preset', 'The preset cannot be called "github": a built-in preset has that name'],
    ['runs', 'command', 'The command cannot be called "runs": a built-in command has that name'],
    ['start', 'command', 'The command cannot be called "start": the gateway itself has the command "start"'],
    ['weather', 'widget', "error: option '--kind <kind>' argument 'widget' is invalid."],
  ])('refuses the name %s for a %s', async (name, kind, message) => {
    const dir = temporaryFolder()
    const ended = await runHere(dir, ['plugin', 'new', name, '--kind', kind])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^${RegExp.escape(message)}.*\\n$`))
    expect(readdirSync(dir).filter((one) => one.startsWith('svc-'))).toEqual([])
  })

  it('refuses a panel for what has none', async () => {
    const dir = temporaryFolder()
    expect(await runHere(dir, ['plugin', 'new', 'weather', '--kind', 'provider', '--panel'])).toEqual({
      code: 1,
      stdout: '',
      stderr: '--panel: a provider has no panel; a channel, a toolset or a preset may have one.\n',
    })
  })

  it('prints one JSON object with --json, and writes into an empty folder only', async () => {
    const dir = temporaryFolder()
    const create = () =>
      run(dir, ['plugin', 'new', 'weather', '--kind', 'toolset', '--dir', 'my plugins/new', '--json'])
    const { code, stdout, stderr } = await create()
    const folder = join(dir, 'my plugins', 'new')
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    const printed = JSON.parse(stdout) as { files: string[] }
    expect({ code, stderr, printed }).toEqual({
      code: 0,
      stderr: '',
      printed: {
        folder,
        files: expect.arrayContaining(files.map((one) => join(one.parentPath, one.name))),
        entry: './my plugins/new/src/index.ts',
        test: "cd 'my plugins/new' && npm install && npm test",
      },
    })
    expect(printed.files).toHaveLength(files.length)

    expect(files.filter(({ parentPath }) => parentPath.endsWith('panel'))).toEqual([])
    const entry = join(folder, 'src', 'index.ts')
    expect(readFileSync(entry, 'utf8')).not.toContain('panel')
    writeFileSync(entry, 'mine')
    expect(await create()).toEqual({
      code: 1,
      stdout: '',
      stderr: `${folder} is not empty; name another folder with --dir.\n`,
    })
    expect(readFileSync(entry, 'utf8')).toBe('mine')
  })
})
