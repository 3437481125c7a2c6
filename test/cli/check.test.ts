// The command `check`, as a process of its own.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

const main = new URL('../../core/main.ts', import.meta.url).pathname

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-check-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Runs `svc-gateway <args>` in a folder that is its home, too. */
async function run(folder: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const done = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>()
  const options = { cwd: folder, env: { PATH: process.env['PATH'], XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'], HOME: folder, ...env } }
  execFile(process.execPath, ['--conditions=svc-gateway-source', main, ...args], options, (error, stdout, stderr) =>
    done.resolve({ code: error?.code ?? 0, stdout, stderr }),
  )
  return await done.promise
}

describe('svc-gateway check', () => {
  it('says ok and ends with 0', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'gateway.json5'), "{ channels: { console: { allowFrom: ['*'] } } }")
    expect(await run(folder, ['check'])).toEqual({ code: 0, stdout: 'ok\n', stderr: '' })
  })

  it('tells every problem with its line and ends with 1', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'other.json5')
    writeFileSync(file, '{\n  hooks: { enabled: true },\n  log: { levl: "warn" },\n  channels: { console: { fiel: 1 } },\n}')
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

  it('warns and is content', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'gateway.json5')
    writeFileSync(file, "{ hooks: { enabled: true, token: '${TOKEN}' } }")
    expect(await run(folder, ['check'], { SVC_GATEWAY_CONFIG: file, TOKEN: 'short' })).toEqual({
      code: 0,
      stdout: 'ok\n',
      stderr: 'warning: line 1: hooks.token has fewer than 24 characters and may be guessed; a longer one is safer\n',
    })
  })

  it('names the part that was refused, whose section is then unknown', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'gateway.json5'), "{ plugins: ['./pager.js'], channels: { pager: {} } }")
    const { code, stderr } = await run(folder, ['check'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^warning: The plugin "\.\/pager\.js" was refused: .*\n.* has a problem:\n {2}line 1: channels\.pager is not a known key/)
  })

  it('says how to get a configuration when there is none', async () => {
    const { code, stderr } = await run(temporaryFolder(), ['check'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('does not exist yet; "npm start -- setup" writes it')])
  })
})

describe('svc-gateway setup', () => {
  it('writes a configuration that is ok, once', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'deep', 'gateway.json5')
    const first = await run(folder, ['setup', '--config', 'deep/gateway.json5'])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toContain(`Wrote ${file}, readable by you alone`)
    expect(await run(folder, ['check', '--config', file])).toEqual({ code: 0, stdout: 'ok\n', stderr: '' })
    expect(await run(folder, ['setup', '--config', file])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('use --force to replace it') })
    expect(await run(folder, ['setup', '--config', file, '--force'])).toMatchObject({ code: 0 })
  })
})
