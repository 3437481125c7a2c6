// A broken plugin is refused with one sentence, and everything else starts.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { listBuiltins } from '../../core/loader/discover.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import { findFaults } from '../../core/loader/verify.ts'
import { createTestContext } from '../contracts.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'registry-'))
})
afterEach(() => rm(dir, { recursive: true }))

const { log } = createTestContext()

/** Writes the files and loads them as plugins. */
async function loadFiles(files: Record<string, string>, plugins = Object.keys(files).map((file) => `./${file}`)) {
  for (const [file, code] of Object.entries(files)) {
    await mkdir(dirname(join(dir, file)), { recursive: true })
    await writeFile(join(dir, file), code)
  }
  const extensions = await loadExtensions({ plugins, dir, log })
  extensions.close()
  return extensions
}

const channel = (fields: string) => `
  import { defineChannel, Type } from 'svc-gateway/plugin'
  const base = {
    name: 'pager', description: 'Pages.', config: Type.Object({}), target: Type.String(),
    limits: { maxText: 100, idempotency: 'none' }, connect: async () => ({}),
  }
  export default defineChannel({ ...base, ${fields} })`

const toolset = (fields: string) => `
  import { defineToolset, Type } from 'svc-gateway/plugin'
  const tool = { name: 'roll', description: 'Rolls.', args: Type.Object({}), execute: () => 1 }
  export default defineToolset({ name: 'dice', description: 'Dice.', tools: [tool], ${fields} })`

describe('the built-in extensions', () => {
  it('are all found and valid', async () => {
    const { problems, sources, toolsets } = await loadFiles({})
    expect(problems).toEqual([])
    expect(sources.size).toBeGreaterThanOrEqual((await listBuiltins(join(import.meta.dirname, '..', '..'))).length)
    for (const extension of sources.keys()) expect(findFaults(extension)).toEqual([])
    const names = Array.from(sources.keys(), ({ kind, name }) => `${kind} ${name}`)
    const tools = Array.from(toolsets.values(), ({ tools = [] }) => tools.map(({ name }) => name)).flat()
    expect([names.length, tools.length]).toEqual([new Set(names).size, new Set(tools).size])
  })
})

describe('a plugin given by its path', () => {
  it.each(['pager.ts', 'pager.mts', 'pager.js', 'pager.mjs', 'pager/index.ts'])('is loaded from %s', async (file) => {
    const { channels, problems, sources } = await loadFiles(
      { 'package.json': '{ "type": "module" }', [file]: channel('') },
      [`./${file}`],
    )
    expect(problems).toEqual([])
    expect(sources.get(channels.get('pager')!)).toBe(`./${file}`)
  })

  it('accepts an absolute path, a folder, and a path without the file extension', async () => {
    await loadFiles({ 'pager/index.ts': channel(''), 'dice.ts': toolset('') })
    const { problems, channels, toolsets } = await loadExtensions({
      plugins: ['./pager', join(dir, 'dice.ts'), './dice'],
      dir,
      log,
    })
    expect([...channels.keys(), ...toolsets.keys()]).toEqual(expect.arrayContaining(['pager', 'dice']))
    expect(problems).toEqual([
      `The toolset "dice" from "./dice" was refused: "${join(dir, 'dice.ts')}" already has one of that name; ` +
        `rename it, or remove one of the two from \`plugins\`.`,
    ])
  })

  it('accepts CommonJS that was compiled from a default export', async () => {
    const code = `Object.defineProperty(exports, '__esModule', { value: true })
      exports.default = { kind: 'preset', name: 'p', description: 'P.', payload: { type: 'object' }, mapping: {} }`
    const { presets, problems } = await loadFiles({ 'preset.cjs': code })
    expect(problems).toEqual([])
    expect(presets.has('p')).toBe(true)
  })

  it('gets the contract of the running gateway even if another copy is installed', async () => {
    await loadFiles({
      'node_modules/svc-gateway/package.json':
        '{ "name": "svc-gateway", "type": "module", "exports": { "./plugin": "./plugin.js" } }',
      'node_modules/svc-gateway/plugin.js': 'throw new Error("the wrong contract")',
    })
    const { problems } = await loadFiles({ 'one.ts': channel(''), 'two.mjs': toolset('') }, ['./one.ts', './two.mjs'])
    expect(problems).toEqual([])
  })
})

const provider = (fields: string) => `
  import { defineProvider, Type } from 'svc-gateway/plugin'
  export default defineProvider({ name: 'shop', description: 'Models.', config: Type.Object({}),
    models: async () => () => {}, ${fields} })`

const preset = (fields: string) => `
  import { definePreset, Type } from 'svc-gateway/plugin'
  export default definePreset({ name: 'shop', description: 'Orders.', payload: Type.Object({}),
    mapping: { messageTemplate: 'An order.' }, ${fields} })`

describe('a plugin with faults', () => {
  it('is refused with one sentence for each of them', async () => {
    const { problems, findings } = await loadFiles({ 'a.ts': channel('description: "", connect: 5, loginn: true') })
    expect(problems).toHaveLength(3)
    expect(findings.map(({ severity, plugin, extension, member }) => [severity, plugin, extension, member])).toEqual(
      ['description', 'connect', 'loginn'].map((member) => ['error', './a.ts', 'channel "pager"', member]),
    )
  })

  it('is used if they change nothing, with a warning', async () => {
    const { channels, problems, warnings } = await loadFiles({
      'a.mjs': `globalThis.shopOfTest = 1\n${channel("homepage: 'https://x.example'")}`,
    })
    Reflect.deleteProperty(globalThis, 'shopOfTest')
    expect(problems).toEqual([])
    expect(channels.has('pager')).toBe(true)
    expect(warnings).toEqual([
      'The import of the plugin "./a.mjs" adds the global shopOfTest; export it from a module.',
      'The channel "pager" from "./a.mjs" has a fault: `homepage` is not a member of a channel, so it has no effect; ' +
        'remove it.',
    ])
  })

  it('may load the module domain, as old packages do', async () => {
    expect(await loadFiles({ 'a.mjs': `import 'node:domain'\n${channel('')}` })).toMatchObject({ problems: [] })
  })

  it('may be an object of a class, which has members of its own', async () => {
    const code = `import { Type } from 'svc-gateway/plugin'
      class Dice {
        kind = 'toolset'
        name = 'dice'
        description = 'Dice.'
        tool = { name: 'roll', description: 'Rolls.', args: Type.Object({}), execute: () => 1 }
        get tools() { return [this.tool] }
      }
      export default new Dice()`
    expect(await loadFiles({ 'a.mjs': code })).toMatchObject({ problems: [], warnings: [] })
  })

  it('does not hide what its presets declare, whose scheme may be in another plugin', async () => {
    const scheme = `import { defineScheme } from 'svc-gateway/plugin'
      export default defineScheme({ name: 'parcel', description: 'P.', tokens: [{ header: 'x-parcel' }] })`
    const { presets, problems } = await loadFiles({
      'a.ts': preset("auth: { scheme: 'parcel' }"),
      'b.ts': preset("name: 'other', tooAction: () => null, auth: { scheme: 'parcle' }"),
      'c.ts': scheme,
    })
    expect(presets.has('shop')).toBe(true)
    expect(problems).toEqual([
      expect.stringContaining('did you mean `toAction`?'),
      expect.stringContaining('did you mean "parcel"?'),
    ])
  })
})

describe('a broken plugin', () => {
  const cases: [what: string, file: string, code: string, sentence: RegExp][] = [
    [
      'that throws',
      'a.js',
      'throw new Error("boom")',
      /^The plugin "\.\/a\.js" was refused: importing it failed \(Error: boom, at .*a\.js:1:7\); fix it, or remove/,
    ],
    ['that throws nothing', 'a.js', 'throw undefined', /importing it failed \(undefined\)/],
    [
      'that does not parse',
      'a.ts',
      'export default {',
      /The plugin "\.\/a\.ts" was refused: importing it failed \(.*, at .*a\.ts:1:16\)/,
    ],
    [
      'that does not parse as JavaScript',
      'a.mjs',
      'const x = 1\nexport default b c',
      /importing it failed \(SyntaxError: .*, at .*a\.mjs:2:1\d\)/,
    ],
    [
      'that imports what is not there',
      'a.mjs',
      'import "./nothing.js"',
      /importing it failed \(Error: Cannot find module/,
    ],
    [
      'without a default export',
      'a.mjs',
      'export const x = 1',
      /^An extension from "\.\/a\.mjs" was refused: its default export is missing; export what defineChannel,/,
    ],
    ['in TypeScript without a default export', 'a.ts', 'export const x: number = 1', /its default export is missing/],
    ['that exports a number', 'a.mjs', 'export default [5]', /its default export is not an extension/],
    [
      'of an unknown kind',
      'a.mjs',
      'export default { kind: "toaster", name: "x" }',
      /^The toaster "x" from ".*" was refused: its kind is unknown; declare it with/,
    ],
    ['of the kind of an object', 'a.mjs', 'export default { kind: "constructor", name: "x" }', /its kind is unknown/],
    [
      'that throws while it is read',
      'a.mjs',
      'export default { kind: "channel", get name() { throw new Error("ha") } }',
      /^An extension from .* reading it failed \(Error: ha\)\.$/,
    ],
    [
      'without a name',
      'a.ts',
      channel('name: undefined'),
      /^A channel from "\.\/a\.ts" was refused: its name must be lower-case/,
    ],
    [
      'with a bad name',
      'a.ts',
      channel('name: "Big Pager"'),
      /^The channel "Big Pager" from .* its name must be lower-case letters, digits and dashes, 64 at most/,
    ],
    [
      'with an alias that is the name of one of ours',
      'a.ts',
      channel('aliases: ["telegram"]'),
      /^The channel "pager" from .*: "svc-gateway" already has one of that name/,
    ],
    ['with a name that is taken', 'a.ts', channel('name: "last"'), /the name "last" is reserved/],
    [
      'with the name of one of ours',
      'a.ts',
      channel('name: "console"'),
      /^The channel "console" from .*: "svc-gateway" already has one of that name/,
    ],
    [
      'without a description',
      'a.ts',
      channel('description: " "'),
      /`description` is missing; describe its purpose in one sentence/,
    ],
    ['without a way to connect', 'a.ts', channel('connect: 5'), /`connect` must be a function/],
    ['without a schema', 'a.ts', channel('target: "a chat id"'), /`target` must be a JSON Schema/],
    [
      'whose schema does not compile',
      'a.ts',
      channel('target: { type: "string", pattern: "(" }'),
      /`target` is not a JSON Schema that can be compiled \(SyntaxError: Invalid regular expression/,
    ],
    [
      'whose settings are no object',
      'a.ts',
      channel('config: Type.String()'),
      /`config` must be the schema of an object/,
    ],
    [
      'whose settings clash',
      'a.ts',
      channel('config: Type.Object({ accounts: Type.String() })'),
      /`config` declares "accounts", which every channel already has; rename it/,
    ],
    [
      'with a schema of Zod',
      'a.ts',
      channel("config: { '~standard': { version: 1, vendor: 'zod' } }"),
      /`config` is a schema of zod, not a JSON Schema; build it with Type, or convert it/,
    ],
    [
      'with a schema of Zod inside',
      'a.ts',
      channel("config: Type.Object({ url: { '~standard': { version: 1, vendor: 'zod' } } })"),
      /`config` is a schema of zod/,
    ],
    [
      'with a schema that is a function',
      'a.ts',
      channel("target: Object.assign(() => 1, { '~standard': { vendor: 'arktype' } })"),
      /`target` is a schema of arktype/,
    ],
    ['with odd packages', 'a.ts', channel("packages: { grammy: '1.46.0' }"), /`packages` must be a function/],
    ['with an odd login', 'a.ts', channel('login: true'), /`login` must be a function/],
    [
      'with an unknown format',
      'a.ts',
      channel('limits: { maxText: 5, idempotency: "none", format: "bbcode" }'),
      /`limits\.format` must be "markdown", "html", "plain", "ranges", or the marks/,
    ],
    [
      'with half a mark',
      'a.ts',
      channel('limits: { maxText: 5, idempotency: "none", format: { bold: ["*"] } }'),
      /`limits\.format\.bold` must be two texts/,
    ],
    [
      'with a service that has no key',
      'a.ts',
      provider('service: { title: "Shop", model: "large" }'),
      /in `service`, `keyVariables` must be a list/,
    ],
    [
      'with a server without an address',
      'a.ts',
      provider('localServers: [{ name: "attic", title: "Attic" }]'),
      /in `localServers\[0\]`, `baseUrl` is missing/,
    ],
    ['without limits', 'a.ts', channel('limits: undefined'), /`limits` must be an object/],
    [
      'with an impossible limit',
      'a.ts',
      channel('limits: { maxText: 0.5, idempotency: "none" }'),
      /`limits\.maxText` must be a whole number/,
    ],
    [
      'with an unknown promise',
      'a.ts',
      channel('limits: { maxText: 5, idempotency: "yes" }'),
      /`limits\.idempotency` must be/,
    ],
    [
      'without tools',
      'a.ts',
      toolset('tools: []'),
      /^The toolset "dice" from .* it has no tools; give `tools`, or `open`/,
    ],
    [
      'whose tool has no valid name',
      'a.ts',
      toolset('tools: [{ ...tool, name: "rollDice" }]'),
      /its tool "[^"]+" has no valid name; it must be snake_case/,
    ],
    ['whose tool is nothing', 'a.ts', toolset('tools: [null]'), /a tool has no name; declare it with defineTool/],
    [
      'whose tool has no description',
      'a.ts',
      toolset('tools: [{ ...tool, description: "" }]'),
      /in its tool "roll", `description` is missing/,
    ],
    [
      'whose tool takes no object',
      'a.ts',
      toolset('tools: [{ ...tool, args: Type.String() }]'),
      /in its tool "roll", `args` must be the schema of an object/,
    ],
    [
      'whose settings are those of every mapping',
      'a.ts',
      `export default { kind: 'preset', name: 'p', description: 'P.', payload: {}, mapping: {},
        config: { type: 'object', properties: { agentId: {} } } }`,
      /`config` declares "agentId", which every preset already has; rename it/,
    ],
    [
      'whose action is no function',
      'a.ts',
      `export default { kind: 'preset', name: 'p', description: 'P.', payload: { type: 'object' }, mapping: {},
        toAction: 'x' }`,
      /^The preset "p" from .* `toAction` must be a function/,
    ],
    [
      'with an empty list',
      'a.mjs',
      'export default []',
      /^The plugin "\.\/a\.mjs" was refused: its default export is an empty/,
    ],
    [
      'that fails right after its import',
      'a.mjs',
      `setImmediate(() => { throw new Error('late') })`,
      /failed \(Error: late/,
    ],
    ['with a misspelled member', 'a.ts', channel('normaliseId: (id) => id'), /did you mean `normalizeId`\?$/],
    [
      'with a misspelled limit',
      'a.ts',
      channel('limits: { maxText: 5, idempotency: "none", maxfileBytes: 5 }'),
      /in `limits`, `maxfileBytes` is not a member of limits; did you mean `maxFileBytes`\?$/,
    ],
    ['with an alias that is no name', 'a.ts', channel('aliases: ["Big"]'), /in `aliases`, its name must be lower-case/],
    ['whose tool is misspelled', 'a.ts', toolset('tools: [{ ...tool, optin: true }]'), /did you mean `optIn`\?$/],
    [
      'whose tool has an odd flag',
      'a.ts',
      toolset('tools: [{ ...tool, optIn: "yes" }]'),
      /`optIn` must be true or false/,
    ],
    [
      'whose schema has an unknown type',
      'a.ts',
      toolset('tools: [{ ...tool, args: { type: "object", properties: { n: { type: "int" } } } }]'),
      /`args` is not a JSON Schema: `properties\.n\.type` must be "array", "boolean"/,
    ],
    [
      'whose schema has a constructor in it',
      'a.ts',
      toolset('tools: [{ ...tool, args: { type: "object", properties: { n: Number } } }]'),
      /`args` is not a JSON Schema: `properties\.n` must be a JSON Schema/,
    ],
    [
      'whose mapping has an unknown key',
      'a.ts',
      preset("mapping: { mesageTemplate: 'x' }"),
      /^The preset "shop" from .*: `mapping\.mesageTemplate` is not a known key; did you mean "messageTemplate"\?$/,
    ],
    [
      'whose mapping has a broken template',
      'a.ts',
      preset("mapping: { messageTemplate: '{{ a b }}' }"),
      /: `mapping\.messageTemplate` contains \{\{ a b \}\}/,
    ],
    [
      'whose mapping has an unknown level',
      'a.ts',
      preset("mapping: { messageTemplate: 'x', thinking: 'lots' }"),
      /: `mapping\.thinking` must be one of/,
    ],
    [
      'of an unknown scheme',
      'a.ts',
      preset("auth: { scheme: 'hmca' }"),
      /`auth\.scheme` is not a known scheme; did you/,
    ],
    [
      'with a key of another scheme',
      'a.ts',
      preset("auth: { scheme: 'hmac', hedaer: 'x-sign' }"),
      /`auth\.hedaer` is not a known key; did you mean "header"\?$/,
    ],
    [
      'with a secret in its code',
      'a.ts',
      preset("auth: { scheme: 'hmac', header: 'x-sign', secret: 'x' }"),
      /`auth\.secret` is known to whoever has the plugin; remove it/,
    ],
    ['with a tool twice', 'a.ts', toolset('tools: [tool, tool]'), /it has two tools "roll"; rename one of them/],
  ]

  it.each(cases)('%s is refused with a sentence, and the rest starts', async (...[, file, code, sentence]) => {
    const { channels, problems, toolsets } = await loadFiles(
      {
        'package.json': '{ "type": "module" }',
        [file]: code,
        'good.ts': toolset('name: "good", tools: [{ ...tool, name: "flip" }]'),
      },
      [`./${file}`, './good.ts'],
    )
    expect(problems).toEqual([expect.stringMatching(sentence)])
    expect(channels.has('console')).toBe(true)
    expect(toolsets.has('good')).toBe(true)
  })

  it('that does not exist is refused with the folder of the search', async () => {
    const { problems } = await loadFiles({}, ['not-installed', './not-there.ts'])
    expect(problems).toEqual([
      `The plugin "not-installed" was refused: importing it failed (Error: it was not found; install it, or write ` +
        `the path relative to ${dir}); fix it, or remove it from \`plugins\`.`,
      expect.stringContaining('The plugin "./not-there.ts" was refused'),
    ])
  })

  it('whose import never ends is refused', async () => {
    await writeFile(join(dir, 'a.mjs'), 'await new Promise(() => {})')
    const { problems } = await loadExtensions({ plugins: ['./a.mjs'], dir, log, importLimitMs: 1000 })
    expect(problems).toEqual([
      expect.stringContaining('importing it failed (Error: the import did not end within 1000 ms)'),
    ])
  })

  it('does not take the errors of others, even if several are imported at once', async () => {
    const seen: unknown[] = []
    const listener = (error: Error): void => void seen.push(error.message)
    const others = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').on('uncaughtException', listener)
    onTestFinished(() => {
      process.removeAllListeners('uncaughtException')
      for (const other of others) process.on('uncaughtException', other)
    })
    const slow = `await new Promise((resolve) => setTimeout(resolve, 20));`
    const loads = ['a', 'b'].map((folder) =>
      loadFiles({
        [`${folder}/a.mjs`]: slow,
        [`${folder}/b.mjs`]: `setTimeout(() => { throw new Error('late') }); ${slow}`,
      }),
    )
    const timer = setInterval(() => {
      if (!process.listeners('uncaughtException').includes(listener)) {
        clearInterval(timer)
        throw new Error('elsewhere')
      }
    })
    const problems = (await Promise.all(loads)).flatMap((extensions) => extensions.problems)
    expect(problems.filter((problem) => problem.includes('late'))).toHaveLength(2)
    setImmediate(() => {
      throw new Error('afterwards')
    })
    await expect.poll(() => seen).toEqual(['elsewhere', 'afterwards'])
  })

  it('does not affect other extensions of its list', async () => {
    const list = `const preset = { kind: 'preset', name: 'p', description: 'P.', payload: {}, mapping: {} }
      export default [{ ...preset, payload: 5 }, preset, { ...preset }]`
    const { presets, problems } = await loadFiles({ 'list.mjs': list })
    expect(presets.has('p')).toBe(true)
    expect(problems).toHaveLength(2)
  })
})
