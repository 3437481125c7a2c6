// Tests commands of plugins: a package of a stranger, beside a plugin that is broken and one whose names are taken.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ownCommands } from '../../core/cli/commands.ts'
import { coreCommands } from '../../core/loader/verify.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { program } from '../program.ts'
import { closeAtEnd, share } from '../share.ts'
import { inFolder, run } from './command-line.ts'

/** The package `fleet`, whose code of each command is in a file of its own. */
const files = {
  'package.json': JSON.stringify({ name: 'fleet', version: '1.0.0', type: 'module', exports: './index.js' }),
  'index.js': `import { writeFileSync } from 'node:fs'
    import { defineCommand, InputError } from 'svc-gateway/plugin'
    writeFileSync('imported', '')
    const code = () => import('./code.js')
    const parse = (text) => {
      if (!/^\\d+$/.test(text)) throw new InputError('It must be a number.')
      return Number(text)
    }
    export default [
      defineCommand({
        name: 'fleet',
        description: 'List the runs of a fleet.',
        arguments: { shipName: { description: 'the ship', completes: 'agent' } },
        options: {
          status: { value: '<status>', description: 'only these', choices: ['succeeded', 'failed'] },
          knots: { value: '<number>', description: 'how fast', parse, default: 5 },
          cargo: { value: '<thing>', description: 'what it carries', repeatable: true },
          noWind: { description: 'without wind' },
        },
        needs: ['control'],
        json: 'one JSON object per line',
        limit: 2,
        examples: ['fleet main'],
        run: async (input, context) => (await code()).fleet(input, context),
      }),
      defineCommand({
        name: 'import fleet',
        description: 'Change the configuration.',
        needs: ['configuration'],
        examples: ['import fleet'],
        run: async (input, context) => (await code()).change(context),
      }),
      defineCommand({
        name: 'sink',
        description: 'Fail.',
        arguments: { how: { description: 'how it fails' } },
        examples: ['sink fast'],
        run: async ({ how }, context) => (await code()).sink(how, context),
      }),
    ]`,
  'code.js': `import { setTimeout } from 'node:timers/promises'
    import { escapeInLine } from 'svc-gateway/kit'
    import { CommandError, InputError } from 'svc-gateway/plugin'
    export async function fleet({ json, limit, ...input }, { control, terminal }) {
      if (input.knots > 9) return terminal.print(escapeInLine(JSON.stringify(input)))
      const runs = control.list('/api/runs', { status: input.status })
      await terminal.printList(runs, { noun: 'runs', json, limit, columns: { ID: ({ id }) => id, KIND: ({ kind }) => kind } })
    }
    export async function change({ configuration, terminal }) {
      const before = configuration.read().log?.level
      await configuration.merge({ log: { level: 'error' } })
      terminal.print([configuration.locate(), before, configuration.read().log.level].join(' '))
    }
    export async function sink(how, { terminal, signal }) {
      if (how === 'wrong') throw new InputError('It cannot sink like that.')
      if (how === 'late') throw new CommandError('It is too late.', 7)
      if (how === 'slowly') {
        terminal.print('sinking')
        await setTimeout(60_000, undefined, { signal }).catch(() => undefined)
        return terminal.print('rescued')
      }
      throw new Error('There is \\u001b[31mwater\\nin the hold.')
    }`,
}

/** Keeps a process alive. */
const busy = `setInterval(() => {}, 60_000)
  export default { kind: 'scheme', name: 'busy', description: 'Busy.', tokens: [{ header: 'x-busy' }] }`
const broken = `throw new Error('It is broken.')`
const taken = `import { defineCommand } from 'svc-gateway/plugin'
  const command = { description: 'Taken.', examples: ['x'], run() {} }
  export default ['runs', 'start', 'fleet harbour', 'Fleet'].map((name) => defineCommand({ ...command, name }))`

function install(dir: string, plugins: readonly string[], settings: object = {}): void {
  mkdirSync(join(dir, 'node_modules', 'fleet'), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, 'node_modules', 'fleet', name), text)
  writeFileSync(join(dir, 'busy.mjs'), busy)
  writeFileSync(join(dir, 'broken.mjs'), broken)
  writeFileSync(join(dir, 'taken.mjs'), taken)
  writeFileSync(join(dir, 'gateway.json5'), JSON.stringify({ plugins, ...settings }), { mode: 0o600 })
}

const shared = share(async () => {
  const gateway = await startGateway({ agents: { defaults: { heartbeat: { every: 0 } } } })
  for (const message of ['One.', 'Two.', 'Three.'])
    await gateway.post('/hooks/agent', { message, wakeMode: 'next-heartbeat', deliver: false }, { prefer: 'wait=20' })
  const dir = temporaryFolder()
  install(dir, ['fleet', './busy.mjs', './broken.mjs'], { agents: { main: {} } })
  const env = { SVC_GATEWAY_URL: gateway.url, SVC_GATEWAY_TOKEN: gatewayToken }
  return { dir, env, cli: (...args: string[]) => run(dir, args, { env }) }
})

const brokenPlugin = expect.stringMatching(/^The plugin "\.\/broken\.mjs" was refused: [^\n]*It is broken\.[^\n]*\n$/)

describe('a command of a plugin', () => {
  it('has a help, with one line for a plugin that is broken', async () => {
    const { code, stdout, stderr } = await shared().cli('fleet', '--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: brokenPlugin })
    expect(stdout).toMatch(
      /--knots <number> +how fast \(default: 5\)\n[^]*--url <address>[^]*--limit <number>[^]*--json[^]*\$ svc-gateway fleet main\n/,
    )
  })

  it('is found with the option --config from another folder', async () => {
    const { dir } = shared()
    for (const option of [['--config', join(dir, 'gateway.json5')], [`--config=${join(dir, 'gateway.json5')}`]])
      expect((await run(temporaryFolder(), ['sink', ...option, 'wrong'])).stderr).toMatch(
        /\nIt cannot sink like that\.\n$/,
      )
  })

  it('is suggested for a misspelled name', async () => {
    const { stderr } = await shared().cli('flet')
    expect(stderr).toMatch(/\nThere is no command "flet"; did you mean "fleet"\?\n$/)
  })

  it('runs against the running gateway, with its options', async () => {
    const { cli } = shared()
    const listed = await cli('fleet', 'main', '--status', 'succeeded')
    expect(listed.stdout).toMatch(/^\S+ {2}hook\n\S+ {2}hook\n$/)
    expect(listed.stderr).toMatch(/\nThere are more than 2 runs; use --limit to see more\.\n$/)
    const lines = (await cli('fleet', 'main', '--json', '--limit', '1')).stdout.split('\n')
    expect(lines.map((line) => (line === '' ? '' : JSON.parse(line).kind))).toEqual(['hook', ''])
    expect((await cli('fleet', 'main', '--status', 'failed')).stderr).toMatch(/There are no runs to list\.\n$/)
    const given = ['--knots', '10', '--cargo', 'tea', '--cargo', 'ink', '--no-wind']
    expect(JSON.parse((await cli('fleet', 'main', ...given)).stdout)).toMatchObject({
      shipName: 'main',
      knots: 10,
      cargo: ['tea', 'ink'],
      noWind: true,
    })
    const nowhere = ['--url', 'http://127.0.0.1:9', '--token', 'x']
    expect(await cli('fleet', 'main', ...nowhere)).toMatchObject({ code: 2, stdout: '' })
  })

  it('reads and changes the configuration', async () => {
    const dir = temporaryFolder()
    install(dir, ['fleet'], { log: { level: 'warn' } })
    const file = join(dir, 'gateway.json5')
    expect(await run(dir, ['import', 'fleet'])).toEqual({ code: 0, stdout: `${file} warn error\n`, stderr: '' })
    expect(readFileSync(file, 'utf8')).toContain("'error'")
    install(dir, ['fleet'], { nothing: true })
    const refused = await run(dir, ['import', 'fleet'])
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('nothing is not a known key'),
    })
  })

  it.each([
    ['wrong', 1, /^It cannot sink like that\.\n$/],
    ['late', 7, /^It is too late\.\n$/],
    [
      'fast',
      1,
      /^The command "sink" of "fleet" failed \(Error: There is \\u001b\[31mwater, at [^\n]*code\.js:\d+:\d+\)\.\n$/,
    ],
  ])('ends with one line and no stack: sink %s', async (how, code, stderr) => {
    const dir = temporaryFolder()
    install(dir, ['fleet'])
    expect(await run(dir, ['sink', how])).toEqual({ code, stdout: '', stderr: expect.stringMatching(stderr) })
  })

  it.each([
    [['fleet'], "error: missing required argument 'ship-name'\n"],
    [['fleet', 'a', '--status', 'lost'], "error: option '--status <status>' argument 'lost' is invalid."],
    [
      ['fleet', 'a', '--knots', 'x'],
      "error: option '--knots <number>' argument 'x' is invalid. It must be a number.\n",
    ],
  ])('rejects bad input: %j', async (args, message) => {
    const { code, stdout, stderr } = await shared().cli(...args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr.split('\n').slice(1).join('\n')).toContain(message)
  })

  it('ends itself at Ctrl-C if it reads the signal', async () => {
    const dir = temporaryFolder()
    install(dir, ['fleet'])
    const child = spawn(process.execPath, [program, 'sink', 'slowly'], inFolder(dir, {}))
    let stdout = ''
    child.stdout.on('data', (text: Buffer) => {
      stdout += text.toString()
      if (stdout === 'sinking\n') child.kill('SIGINT')
    })
    expect(await once(child, 'close')).toEqual([130, null])
    expect(stdout).toBe('sinking\nrescued\n')
  })

  it('is refused if its name is taken or not valid, and the others stay', async () => {
    const dir = temporaryFolder()
    install(dir, ['fleet', './taken.mjs'])
    const { code, stdout, stderr } = await run(dir, ['fleet', '--help'])
    expect(code).toBe(0)
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^The command "runs" from ".\/taken.mjs" was refused: "svc-gateway" already has one/),
      expect.stringMatching(/^The command "start" .* the gateway itself has the command "start"; rename it\.$/),
      expect.stringMatching(/^The command "fleet harbour" .* "fleet" already has one of that name; rename it/),
      expect.stringMatching(/^The command "Fleet" .* one or two words of lower-case letters, digits and dashes\.$/),
      '',
    ])
    expect(stdout).toContain('List the runs of a fleet.')
    expect(await run(dir, ['check'])).toMatchObject({
      code: 1,
      stdout: 'fleet 1.0.0: command fleet, command import fleet, command sink\n',
      stderr: expect.stringContaining('"svc-gateway" already has one of that name'),
    })
  })
})

describe('a built-in command', () => {
  it.each([
    ['--version'],
    ['--help'],
    ['help', 'runs'],
    ['import', '--help'],
    ['runs', 'list', '--help'],
    ['completion', 'bash'],
    ['complete', '--', 'fleet', ''],
    ['presets', 'setup'],
  ])('imports no plugin: %s %s %s', async (...args) => {
    const dir = temporaryFolder()
    install(dir, ['fleet', './broken.mjs'])
    expect(
      (
        await run(
          dir,
          args.filter((word) => word !== undefined),
        )
      ).stderr,
    ).not.toContain('broken')
    expect(existsSync(join(dir, 'imported'))).toBe(false)
  })

  it('is not affected by a configuration that cannot be read', async () => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'gateway.json5'), '{')
    const { code, stdout, stderr } = await run(dir, ['--help'])
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringContaining('doctor'), stderr: '' })
    expect((await run(dir, ['fleet'])).stderr).toMatch(
      /^The commands of plugins are not known: The configuration [^\n]*\nThere is no command "fleet"; /,
    )
  })

  it('neither imports a plugin nor sends a credential for a configuration that others can change', async () => {
    const dir = temporaryFolder()
    let received = 0
    const server = createServer((_request, response) => response.end(`${(received += 1)}`)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closeAtEnd(() => server.close())
    install(dir, ['fleet'], { gateway: { port: (server.address() as AddressInfo).port } })
    chmodSync(dir, 0o777)
    const env = { SVC_GATEWAY_TOKEN: gatewayToken }
    const refused = `gateway.json5 depends on ${dir}, which can be changed by every user of this machine`
    for (const args of [['check'], ['doctor'], ['plugin', 'list'], ['fleet'], ['runs', 'list'], ['start']]) {
      const { code, stdout, stderr } = await run(dir, args, { env })
      expect({ args, code, text: stdout + stderr }).toEqual({ args, code: 1, text: expect.stringContaining(refused) })
    }
    expect({ received, isImported: existsSync(join(dir, 'imported')) }).toEqual({ received: 0, isImported: false })
    const named = await run(dir, ['plugin', 'list', '--config', 'gateway.json5'])
    expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining('fleet') })
  })

  it('of the gateway itself has a name that no plugin can have', () => {
    const names = [...ownCommands.map(({ name }) => name), 'complete', 'help']
    expect(names.toSorted()).toEqual(coreCommands.toSorted())
  })
})
