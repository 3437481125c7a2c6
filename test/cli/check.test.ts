// Tests the commands `check` and `setup`.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { spawnGateway, temporaryFolder } from '../helpers.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

const brokenHooks = `{
  gateway: { port: 0, auth: { token: 'gateway-token-of-the-tests-0123456789' } },
  hooks: {
    enabled: true, token: 'hook-token-of-the-tests-0123456789',
    mappings: [
      { match: { path: 'empty' }, deliver: false },
      { id: 'news', match: { path: 'news' }, action: 'wake', textTemplate: '{{ text' },
      { id: 'never', match: { path: '/news/' }, action: 'wake', textTemplate: 'x' },
      { id: 'missing', match: { path: 'a' }, transform: { module: 'missing.ts' } },
      { match: { path: 'b' }, transform: { module: 'broken.ts' } },
      { match: { path: 'c' }, transform: { module: 'empty.js' } },
      { match: { path: 'd' }, transform: { module: 'fine.js' } },
    ],
  },
  tools: { deny: ['web_fech', 'exec', 'everything__*'],
    mcp: { servers: { everything: { command: 'touch', args: ['started'] } } } },
}`

describe('svc-gateway check', () => {
  it('prints ok and exits with 0', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'gateway.json5'), "{ channels: { console: { allowFrom: ['console'] } } }")
    expect(await run(folder, ['check'])).toEqual({ code: 0, stdout: 'ok\n', stderr: '' })
  })

  it('reports all errors with their lines and exits with 1', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'other.json5')
    writeFileSync(
      file,
      '{\n  hooks: { enabled: true },\n  log: { levl: "warn" },\n  channels: { console: { fiel: 1 } },\n}',
    )
    expect(await run(folder, ['check', '--config', 'other.json5'])).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        `The configuration ${file} has 3 problems:`,
        '  line 2: hooks.token is required when hooks are enabled; set a long random token that nothing else uses',
        '  line 3: log.levl is not a known key; did you mean "level"?',
        '  line 4: channels.console.fiel is not a known key; did you mean "file"?',
        '',
      ].join('\n'),
    })
  })

  it('refuses an MCP server that is neither a program nor a service, or both', async () => {
    const folder = temporaryFolder()
    const servers = {
      none: {},
      both: { command: 'x', url: 'http://127.0.0.1:1' },
      headed: { command: 'x', headers: { a: 'b' } },
      programmed: { url: 'http://127.0.0.1:1', args: [] },
      program: { command: 'x', args: [], env: {} },
      service: { url: 'http://127.0.0.1:1', headers: {} },
    }
    writeFileSync(join(folder, 'gateway.json5'), JSON.stringify({ tools: { mcp: { servers } } }))
    const { code, stderr } = await runHere(folder, ['check'])
    const rule = 'must have either "command", with "args" and "env", or "url", with "headers"'
    expect([code, ...stderr.trim().split('\n').slice(1)]).toEqual([
      1,
      ...['none', 'both', 'headed', 'programmed'].map((name) => `  line 1: tools.mcp.servers.${name} ${rule}`),
    ])
  })

  it('prints what each plugin brings', async () => {
    const folder = temporaryFolder()
    const plugin = `import { defineChannel, defineToolset, Type } from 'svc-gateway/plugin'
      const connect = () => { throw new Error('must not be called') }
      const tool = { name: 'roll', description: 'Rolls.', args: Type.Object({}), execute: () => 1 }
      export default [
        defineToolset({ name: 'dice', description: 'Dice.', tools: [tool], open: connect }),
        defineChannel({ name: 'pager', description: 'Pages.', config: Type.Object({}), target: Type.String(),
          limits: { maxText: 100, idempotency: 'none' }, connect, packages: () => ({ 'x-pager': '1.0.0' }) }),
      ]`
    writeFileSync(join(folder, 'dice.mjs'), plugin)
    writeFileSync(join(folder, 'gateway.json5'), "{ plugins: ['./dice.mjs'],\n channels: { pager: {} } }")
    expect(await runHere(folder, ['check'])).toEqual({
      code: 0,
      stdout: './dice.mjs: toolset dice (roll, more when it is opened), channel pager\nok\n',
      stderr: 'warning: line 2: channels.pager needs the package x-pager; run: npm i x-pager@1.0.0\n',
    })
  })

  it('exits with 1 if a plugin cannot be imported, and names the line', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'broken.ts'), 'const x: number = 1\nthrow new Error("boom")')
    writeFileSync(join(folder, 'gateway.json5'), "{ plugins: ['./broken.ts'] }")
    const { code, stdout, stderr } = await run(folder, ['check'])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(
      /^The plugin "\.\/broken\.ts" was refused: importing it failed \(Error: boom, at .*broken\.ts:2:/,
    )
    expect(stderr).toMatch(/\nA plugin cannot be used; see above\.\n$/)
  })

  it('reports a missing key of a toolset that has no section', async () => {
    const folder = temporaryFolder()
    const plugin = `import { defineToolset, Type } from 'svc-gateway/plugin'
      export default defineToolset({ name: 'weather', description: 'Weather.',
        config: Type.Object({ apiKey: Type.String({ secret: true }) }),
        open: async () => ({ tools: [], close: async () => {} }) })`
    writeFileSync(join(folder, 'weather.mjs'), plugin)
    writeFileSync(join(folder, 'gateway.json5'), "{ plugins: ['./weather.mjs'] }")
    const { code, stderr } = await runHere(folder, ['check'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('tools.weather.apiKey is required')])
  })

  it('prints warnings and exits with 0', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'gateway.json5')
    writeFileSync(file, "{ hooks: { enabled: true, token: '${TOKEN}' } }")
    expect(await runHere(folder, ['check'], { env: { SVC_GATEWAY_CONFIG: file, TOKEN: 'short' } })).toEqual({
      code: 0,
      stdout: 'ok\n',
      stderr: 'warning: line 1: hooks.token has fewer than 24 characters and could be guessed; use a longer one\n',
    })
  })

  it('exits with 1 for a warning with --strict', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'gateway.json5')
    writeFileSync(file, "{ hooks: { enabled: true, token: 'short' } }", { mode: 0o600 })
    const strict = await runHere(folder, ['check', '--strict'])
    expect([strict.code, strict.stdout]).toEqual([1, ''])
    expect(strict.stderr).toMatch(
      /^warning: line 1: hooks\.token has fewer[^\n]*\nThere is 1 warning, and --strict allows none\.\n$/,
    )
    writeFileSync(file, '{}')
    expect(await runHere(folder, ['check', '--strict'])).toEqual({ code: 0, stdout: 'ok\n', stderr: '' })
  })

  it('prints the same warnings that the start and a reload log', { timeout: 120_000 }, async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'gateway.json5')
    writeFileSync(file, brokenHooks, { mode: 0o600 })
    mkdirSync(join(folder, 'transforms'))
    writeFileSync(join(folder, 'transforms', 'broken.ts'), 'export default function (')
    writeFileSync(join(folder, 'transforms', 'empty.js'), 'export const name = 1')
    writeFileSync(join(folder, 'transforms', 'fine.js'), 'export default () => undefined')
    const { code, stdout, stderr } = await run(folder, ['check'])
    const warnings = stderr.trimEnd().split('\n')
    expect([code, stdout]).toEqual([0, 'ok\n'])
    expect(existsSync(join(folder, 'started'))).toBe(false)
    expect(warnings).toEqual(
      [
        'line 6: hooks.mappings[0] has neither messageTemplate nor transform',
        'line 7: hooks.mappings[1].textTemplate ("news") contains "{{" without',
        'line 8: hooks.mappings[2] ("never") is never reached, because hooks.mappings[1] ("news")',
        'line 9: hooks.mappings[3].transform.module ("missing") cannot be used, so requests get 500 ' +
          'until it is fixed: There is no missing.ts',
        'line 10: hooks.mappings[4].transform.module cannot be used, so requests get 500 until it is ' +
          'fixed: The transform broken.ts does not compile at line 1, column 25: Expected',
        'line 11: hooks.mappings[5].transform.module cannot be used, so requests get 500 until it is ' +
          'fixed: The transform empty.js',
        'line 15: tools.deny names "web_fech", but no loaded tool has this name; did you mean "web_fetch"?',
      ].map((warning) => expect.stringContaining(`warning: ${warning}`)),
    )

    const gateway = await spawnGateway(file)
    const logged = () =>
      gateway.log.map((line) => JSON.parse(line) as { component: string; level: number; msg: string })
    const configWarnings = () =>
      logged().flatMap(({ component, level, msg }) =>
        component === 'config' && level === 40 ? [`warning: ${msg}`] : [],
      )
    await expect.poll(configWarnings).toEqual(warnings)
    gateway.process.kill('SIGHUP')
    await expect.poll(configWarnings).toEqual([...warnings, ...warnings])

    // An error hides none of them.
    writeFileSync(file, brokenHooks.replace(/\}$/, "  log: { levl: 'warn' },\n}"), { mode: 0o600 })
    const headline = `The configuration ${file} has a problem:`
    const error = 'line 17: log.levl is not a known key; did you mean "level"?'
    const refused = { code: 1, stdout: '', stderr: [headline, `  ${error}`, ...warnings, ''].join('\n') }
    expect(await run(folder, ['check'])).toEqual(refused)
    expect(await run(folder, ['start'])).toEqual(refused)
    const lines = (await runHere(folder, ['check', '--json'])).stdout.trimEnd().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { severity: string }).severity)).toEqual([
      'error',
      ...warnings.map(() => 'warning'),
    ])
    const doctor = (await runHere(folder, ['doctor', '--offline', '--json'])).stdout
    expect(warnings.filter((warning) => !doctor.includes(`"line":${/line (\d+)/.exec(warning)?.[1]},`))).toEqual([])
    await expect.poll(configWarnings).toEqual([...warnings, ...warnings, ...warnings])
    expect(gateway.log.join('\n')).toContain('the configuration was not taken over: line 17: log.levl')
    expect(await gateway.end('SIGTERM')).toBe(0)
  })

  it('prints the warnings that an invalid section leaves', async () => {
    const folder = temporaryFolder()
    const plugin = `import { defineChannel, Type } from 'svc-gateway/plugin'
      const common = { description: 'Pages.', config: Type.Object({ key: Type.String() }), target: Type.String(),
        limits: { maxText: 100, idempotency: 'none' }, connect() {},
        packages: ({ key }) => ({ [key.toLowerCase()]: '1.0.0' }) }
      export default ['pager', 'beeper'].map((name) => defineChannel({ name, ...common }))`
    writeFileSync(join(folder, 'pager.mjs'), plugin)
    writeFileSync(
      join(folder, 'gateway.json5'),
      `{ plugins: ['./pager.mjs'], channels: { pager: {}, beeper: { key: 'x-beeper' } },
  hooks: { enabled: true, token: 'short', mappings: [{ nme: 'x' }, 5, { match: { path: 'a' }, deliver: false,
    transform: { module: 'gone.ts' } }] },
  tools: { deny: ['web_fech'] } }`,
      { mode: 0o600 },
    )
    const { code, stderr } = await runHere(folder, ['check'])
    expect(code).toBe(1)
    const kinds = ['channels.pager.key', 'hooks.mappings[0].nme', 'hooks.mappings[1]', 'warning: line 2: hooks.token']
    for (const text of [...kinds, 'There is no gone.ts', 'tools.deny names "web_fech"', 'npm i x-beeper@1.0.0'])
      expect(stderr).toContain(text)
    expect(stderr).not.toMatch(/\n +at /)
  })

  it('reports a rejected plugin before its unknown section', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'gateway.json5'), "{ plugins: ['./pager.js'], channels: { pager: {} } }")
    const { code, stderr } = await runHere(folder, ['check'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The plugin "\.\/pager\.js" was refused: .*relative to [^ ]*\); fix it/)
    expect(stderr).toMatch(/\nwarning: line 1: channels\.pager is ignored, because a plugin was refused /)
  })

  it('prints errors and warnings as JSON lines with --json', async () => {
    const folder = temporaryFolder()
    const check = async (config: string) => {
      writeFileSync(join(folder, 'gateway.json5'), config, { mode: 0o600 })
      const { code, stdout, stderr } = await runHere(folder, ['check', '--json'])
      const lines = stdout.split('\n').filter(Boolean)
      return { code, stderr, lines: lines.map((line) => JSON.parse(line) as unknown) }
    }
    expect(await check('{ logg: {} }')).toMatchObject({
      code: 1,
      stderr: '',
      lines: [{ severity: 'error', path: 'logg', line: 1 }],
    })
    expect(await check("{ hooks: { enabled: true, token: 'short' } }")).toMatchObject({
      code: 0,
      stderr: '',
      lines: [{ severity: 'warning', path: 'hooks.token', code: 'token_short' }],
    })
  })

  it('explains how to create a configuration if there is none', async () => {
    const { code, stderr } = await runHere(temporaryFolder(), ['check'])
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('does not exist; run "npm start -- setup" to create it'),
    ])
  })
})

describe('svc-gateway setup', () => {
  it('writes a valid configuration and does not replace it', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'deep', 'gateway.json5')
    const first = await run(folder, ['setup', '--config', 'deep/gateway.json5'])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toContain(`Wrote ${file}. It contains the tokens`)
    expect(await run(folder, ['check', '--config', file])).toEqual({ code: 0, stdout: 'ok\n', stderr: '' })
    expect(await run(folder, ['setup', '--config', file])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('use --force to replace it'),
    })
    expect(await runHere(folder, ['setup', '--config', file, '--force'])).toMatchObject({ code: 0 })
  })
})
