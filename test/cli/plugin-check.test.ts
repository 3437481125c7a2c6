// Tests the command `plugin check`: everything that a gateway would refuse in a plugin, at once and without a
// configuration.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runTests } from '../../core/cli/plugin/run-tests.ts'
import { temporaryFolder } from '../helpers.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

const limits = { timeout: 60_000 }

const dice = `import { defineToolset, Type } from 'svc-gateway/plugin'
const tool = { name: 'roll', description: 'Rolls.', args: Type.Object({}), execute: () => 1 }
export default defineToolset({ name: 'dice', description: 'Dice.', tools: [tool] })`

function folderWith(files: Record<string, string>): string {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const hostile = `import { defineChannel, definePreset, defineToolset, Type } from 'svc-gateway/plugin'
process.env.SHOP_URL = 'x'
globalThis.shop = {}
setInterval(() => {}, 1000)
console.log('Hello.')
process.on('SIGUSR2', () => {})
const tool = { name: 'web_fetch', description: 'Fetches.', args: Type.Object({}), execute: () => 1 }
export default [
  defineToolset({ name: 'shop', description: 'A shop.', tools: [
    tool,
    { ...tool, name: 'find', optin: true, args: { type: 'object', properties: { city: { type: 'strng' } } } },
    { ...tool, name: 'find' },
  ] }),
  definePreset({ name: 'shop', description: 'Orders.', payload: Type.Object({}), deliveryid: () => 'x',
    homepage: 'https://shop.example', mapping: { mesageTemplate: 'x' }, auth: { scheme: 'hmca' } }),
  defineChannel({ name: 'pager', description: 'Pages.', config: Type.Object({}), connect: async () => ({}),
    target: { type: 'string', pattern: '(' }, limits: { maxtext: 5, maxCaption: -1, idempotency: 'none' } }),
]`

describe('svc-gateway plugin check', limits, () => {
  it('names everything at once: file, member, problem and fix', async () => {
    const folder = folderWith({ 'shop.mjs': hostile })
    const { code, stdout, stderr } = await run(folder, ['plugin', 'check', 'shop.mjs'])
    const of = (extension: string, problem: string) => `The ${extension} from "./shop.mjs" was refused: ${problem}`
    const during = (problem: string) => `warning: The import of the plugin "./shop.mjs" ${problem}`
    const functions = 'do that in `connect`, `open`, `start` or `execute`'
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr.trimEnd().split('\n')).toEqual([
      during('prints; use the `log` of the context.'),
      during(`leaves a timer running; ${functions}, and end it in \`close\`.`),
      during('changes the environment variable SHOP_URL; keep settings in the schema `config`.'),
      during('adds the global shop; export it from a module.'),
      during('listens to "SIGUSR2" of the process; end what it holds in `close`.'),
      of(
        'toolset "shop"',
        'in its tool "find", `args` is not a JSON Schema: `properties.city.type` must be "array", "boolean", ' +
          '"integer", "null", "number", "object", "string" or a list.',
      ),
      of('toolset "shop"', 'in its tool "find", `optin` is not a member of a tool; did you mean `optIn`?'),
      of('toolset "shop"', 'it has two tools "find"; rename one of them.'),
      'warning: The toolset "shop" from "./shop.mjs" has a fault: "svc-gateway" already has a tool "web_fetch", so this ' +
        'one is left out unless `tools.rename` gives it another name; rename it.',
      of('preset "shop"', '`deliveryid` is not a member of a preset; did you mean `deliveryId`?'),
      'warning: The preset "shop" from "./shop.mjs" has a fault: `homepage` is not a member of a preset, so it has no ' +
        'effect; remove it.',
      of(
        'channel "pager"',
        '`target` is not a JSON Schema that can be compiled (SyntaxError: Invalid regular expression: /(/u: ' +
          'Unterminated group).',
      ),
      of('channel "pager"', 'in `limits`, `maxtext` is not a member of limits; did you mean `maxText`?'),
      of('channel "pager"', '`limits.maxText` must be a whole number of at least 1.'),
      of('channel "pager"', '`limits.maxCaption` must be a whole number of at least 0.'),
      of('preset "shop"', '`mapping.mesageTemplate` is not a known key; did you mean "messageTemplate"?'),
      of('preset "shop"', '`auth.scheme` is not a known scheme; did you mean "hmac"?'),
      'A gateway would refuse the plugin; see above.',
    ])
  })

  it('finds the module that a package exports, its level, and what the next one lacks', async () => {
    const manifest = {
      name: 'svc-dice',
      version: '1.2.0',
      type: 'module',
      exports: './src/dice.ts',
      peerDependencies: { 'svc-gateway': '^0.1.0' },
    }
    const folder = folderWith({
      'dice/package.json': JSON.stringify({ ...manifest, scripts: { test: 'vitest run' } }),
      'dice/src/dice.ts': dice,
    })
    const prove = 'Prove what it does when it is used: svc-gateway plugin check'
    expect(await runHere(folder, ['plugin', 'check', 'dice'])).toEqual({
      code: 0,
      stdout: [
        'svc-dice 1.2.0: toolset dice (roll)',
        'ok, bronze: a gateway loads it.',
        'Not proven: what the toolset "dice" does when it is used; what the package contains that npm would publish; ' +
          'that it works with the service itself, because the tests of a suite use a double.',
        'For silver:',
        `  ${prove} dice --test\n`,
      ].join('\n'),
      stderr: '',
    })
    const inside = await runHere(join(folder, 'dice'), ['plugin', 'check', '--json'])
    expect(JSON.parse(inside.stdout)).toEqual({
      plugin: './',
      package: 'svc-dice 1.2.0',
      extensions: [{ kind: 'toolset', name: 'dice', description: 'toolset dice (roll)', settings: [] }],
      findings: [],
      level: 'bronze',
      next: { level: 'silver', lacks: [`${prove} --test`] },
      notProven: expect.arrayContaining(['what the package contains that npm would publish']),
    })
    // Compiled code is not cached there.
    expect(readdirSync(join(folder, 'dice')).filter((name) => name === 'state')).toEqual([])
  })

  it('refuses a package that needs another gateway', async () => {
    const manifest = { name: 'svc-dice', version: '1.2.0', type: 'module', peerDependencies: { 'svc-gateway': '>=9' } }
    const folder = folderWith({ 'package.json': JSON.stringify(manifest), 'index.ts': dice })
    const { code, stderr } = await runHere(folder, ['plugin', 'check'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('was refused: svc-dice 1.2.0 needs svc-gateway >=9, this is 0.1.0; update'),
    })
  })

  it('warns of a package that does not say which gateway it needs', async () => {
    const manifest = { name: 'svc-dice', version: '1.2.0', type: 'module' }
    const folder = folderWith({ 'package.json': JSON.stringify(manifest), 'index.ts': dice })
    const { code, stdout, stderr } = await runHere(folder, ['plugin', 'check'])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'warning: The package "svc-dice" does not say which versions of svc-gateway it needs; add ' +
        '`"peerDependencies": { "svc-gateway": "^0.1.0" }`.\n',
    })
    expect(stdout).toMatch(
      /\nok: a gateway loads it\.\nNot proven: .*\nFor bronze:\n {2}Correct what is named above\.\n$/,
    )
  })

  it('accepts warnings unless --strict is given', async () => {
    const folder = folderWith({ 'loud.mjs': `console.log('Hello.')\n${dice}` })
    expect(await runHere(folder, ['plugin', 'check', 'loud.mjs'])).toMatchObject({ code: 0 })
    const { code, stderr } = await runHere(folder, ['plugin', 'check', 'loud.mjs', '--strict'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'warning: The import of the plugin "./loud.mjs" prints; use the `log` of the context.\n' +
        'The plugin has a fault, and --strict allows none; see above.\n',
    })
  })

  it.each([
    ['exports nothing', 'export default []', /was refused: its default export is an empty list; export what/],
    [
      'ends the process',
      'process.exit(0)',
      /was refused: importing it failed \(Error: it called process\.exit\(0\), at/,
    ],
    [
      'ends the process later',
      `setTimeout(() => process.exit(0), 600)\n${dice}`,
      /^The plugin .* \(Error: it called process\.exit\(0\), at .*odd\.mjs:1:\d+\); fix it/,
    ],
    [
      'ends the process later, without code of its own',
      `setTimeout(process.exit, 600, 0)\n${dice}`,
      /^The plugin .* \(Error: it called process\.exit\(0\)\); fix it/,
    ],
    [
      'fails later',
      `setTimeout(() => { throw new Error('late') }, 600)\n${dice}`,
      /^The plugin .* \(Error: late, at .*odd\.mjs:1:\d+\); fix it/,
    ],
    [
      'is killed',
      `setTimeout(() => process.kill(process.pid, 'SIGTERM'), 600)\n${dice}`,
      /^The plugin "\.\/odd\.mjs" ended the process; remove what ends it\.$/m,
    ],
  ])('names a module that %s', async (_what, code, sentence) => {
    const folder = folderWith({ 'odd.mjs': code })
    const done = await runHere(folder, ['plugin', 'check', 'odd.mjs', '--json'])
    expect(done.code).toBe(1)
    const { findings } = JSON.parse(done.stdout) as { findings: { severity: string; sentence: string }[] }
    expect(findings.filter(({ severity }) => severity === 'error').map((one) => one.sentence)).toEqual([
      expect.stringMatching(sentence),
    ])
  })

  it('says that there is nothing', async () => {
    expect(await runHere(temporaryFolder(), ['plugin', 'check', 'dice.ts'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no file or folder dice.ts; name the folder of the package, or its module.\n',
    })
  })
})

describe('svc-gateway plugin check --test', limits, () => {
  const manifest = {
    name: 'svc-dice',
    version: '1.2.0',
    type: 'module',
    exports: './dice.ts',
    peerDependencies: { 'svc-gateway': '^0.1.0' },
  }
  const configured = dice.replace(
    'tools:',
    `config: Type.Object({ sides: Type.Integer(), seed: Type.String() }), tools:`,
  )
  const entry = { kind: 'toolset', name: 'dice', without: [], passed: true }

  /** A package whose tests write this report, as the suites do. */
  const packageWith = (report: readonly object[], more: Record<string, string> = {}, test = 'node report.js'): string =>
    folderWith({
      'package.json': JSON.stringify({ ...manifest, scripts: { test } }),
      'dice.ts': configured,
      'report.js': `import { appendFileSync } from 'node:fs'
        for (const run of ${JSON.stringify(report)})
          appendFileSync(process.env.SVC_GATEWAY_SUITE_REPORT, JSON.stringify(run) + '\\n')`,
      ...more,
    })

  const whole = {
    LICENSE: 'MIT',
    'CHANGELOG.md': '# Changelog',
    'README.md': 'Set `sides` and `seed`.',
    '.github/workflows/test.yml': 'name: test',
  }

  async function rate(folder: string) {
    const { code, stdout, stderr } = await runHere(folder, ['plugin', 'check', '--test', '--json'])
    const { level, next, suites } = JSON.parse(stdout) as {
      level: string
      next?: { lacks: string[] }
      suites?: unknown
    }
    return { code, stderr, level, lacks: next?.lacks ?? [], suites }
  }

  it('finds gold in a package that has everything', async () => {
    const folder = packageWith([entry], whole)
    expect(await rate(folder)).toEqual({ code: 0, stderr: '', level: 'gold', lacks: [], suites: [entry] })
    expect((await runHere(folder, ['plugin', 'check', '--test'])).stdout).toMatch(
      /\nok, gold: [^\n]+\nNot proven: that it works with the service itself, because the tests of a suite use a double\.\n$/,
    )
  })

  it('finds what is left to gold, and to silver', async () => {
    expect(await rate(packageWith([{ ...entry, without: ['edit'] }], { 'README.md': 'Set `seed`.' }))).toMatchObject({
      code: 0,
      level: 'silver',
      lacks: [
        'Test "edit" of the toolset "dice", instead of `without`.',
        'Add a LICENSE to the package.',
        'Add a CHANGELOG.md to the package; name it in `files` of package.json.',
        'Name in the README these settings of the toolset "dice": `sides`.',
        'Run the tests for each change: add a workflow, such as .github/workflows/test.yml.',
      ],
    })
    const call = 'Call it over the toolset "dice": toolsetContract of svc-gateway/testing.'
    expect(await rate(packageWith([{ ...entry, name: 'other' }], whole))).toMatchObject({
      level: 'bronze',
      lacks: [call],
    })
    expect(await rate(packageWith([entry, { ...entry, passed: false }], whole))).toMatchObject({
      code: 0,
      level: 'bronze',
      lacks: ['Let all tests of the toolset "dice" run and pass.'],
    })
  })

  it('rates the package that npm would publish, not the folder', async () => {
    const folder = packageWith([entry], { ...whole, 'rules.ts': 'export const rules = []' })
    const published = { ...manifest, scripts: { test: 'node report.js' }, files: ['dice.ts'] }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(published))
    expect(await rate(folder)).toMatchObject({
      level: 'silver',
      lacks: ['Add a CHANGELOG.md to the package; name it in `files` of package.json.'],
    })
    writeFileSync(join(folder, 'dice.ts'), `import { rules } from './rules.ts'\n${configured}\nexport { rules }`)
    const { level, lacks } = await rate(folder)
    expect(level).toBeUndefined()
    expect(lacks).toEqual([expect.stringMatching(/^Add rules\.ts to `files` of package\.json/)])
  })

  it('prints what the page shows', async () => {
    const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
    const [, shown = ''] = /^\$ svc-gateway plugin check --test\n([^]*?)^```$/m.exec(page) ?? []
    const chat = { kind: 'channel', name: 'chat', without: ['edit', 'sayInThread'], passed: true }
    const name = 'svc-gateway-plugin-chat'
    const folder = packageWith([chat], {
      ...whole,
      'package.json': JSON.stringify({ ...manifest, name, version: '1.0.0', scripts: { test: 'node report.js' } }),
      'dice.ts': `import { defineChannel, Type } from 'svc-gateway/plugin'
        export default defineChannel({ name: 'chat', description: 'Chats.', target: Type.String(),
          config: Type.Object({ url: Type.String(), token: Type.String() }),
          limits: { maxText: 1000, idempotency: 'none' }, connect: async () => ({ deliver: async () => ({}) }) })`,
    })
    expect(await run(folder, ['plugin', 'check', '--test'])).toEqual({ code: 0, stdout: shown, stderr: '' })
  })

  it('prints what tests that fail have printed', async () => {
    const failing = { ...whole, 'fail.js': `console.log('The die is loaded.'); process.exit(3)` }
    const { code, stderr, level, lacks } = await rate(packageWith([entry], failing, 'node report.js && node fail.js'))
    expect({ code, level, lacks }).toEqual({ code: 1, level: 'bronze', lacks: ['Let `npm test` pass.'] })
    expect(stderr).toMatch(/^The die is loaded\.$[^]*\nThe tests of the plugin have failed; see above\.\n$/m)
  })

  it('ends tests that do not end', async () => {
    const folder = packageWith([], { 'hang.js': `setInterval(() => {}, 1000)` }, 'node hang.js')
    expect(await runTests(folder, { limitMs: 2000 })).toEqual({
      passed: false,
      output: expect.stringMatching(/\nThe tests did not end within 2 s\.\n$/),
      suites: [],
    })
  })

  it('does not run the tests of what a gateway would refuse, or of a single module', async () => {
    const folder = packageWith([], { 'dice.ts': 'export default []' }, 'node touch.js')
    const refused = await runHere(folder, ['plugin', 'check', '--test', '--json'])
    expect(refused.code).toBe(1)
    expect(JSON.parse(refused.stdout)).not.toHaveProperty('suites')
    expect(await runHere(folder, ['plugin', 'check', 'dice.ts', '--test'])).toEqual({
      code: 1,
      stdout: '',
      stderr: '--test: dice.ts is not the folder of a package with a script `test` in package.json.\n',
    })
  })
})
