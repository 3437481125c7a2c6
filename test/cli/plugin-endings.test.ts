// Commands end whatever a plugin leaves running, and a plugin that would end or block the process is named.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { run } from './command-line.ts'

const dice = `import { defineToolset, Type } from 'svc-gateway/plugin'
const tool = { name: 'roll', description: 'Rolls.', args: Type.Object({}), execute: () => 1 }
export default defineToolset({ name: 'dice', description: 'Dice.', tools: [tool] })`

function writePlugins(plugins: Record<string, string>) {
  const dir = temporaryFolder()
  for (const [file, code] of Object.entries(plugins)) writeFileSync(join(dir, file), code)
  return { dir, file: writeConfig(dir, { plugins: Object.keys(plugins).map((name) => `./${name}`) }) }
}

/** What keeps a process alive. */
const leftovers = `import { spawn } from 'node:child_process'
  import { createServer } from 'node:net'
  setInterval(() => {}, 1000)
  createServer().listen(0, '127.0.0.1')
  process.stdin.resume()
  ${dice}`

const refusal = (file: string, reason: string): string =>
  `The plugin "./${file}" was refused: importing it failed (${reason}`

describe('with a plugin that leaves timers and servers running at its top level', () => {
  it('check ends', async () => {
    const { dir } = writePlugins({ 'busy.mjs': leftovers })
    const { code, stdout, stderr } = await run(dir, ['check'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: './busy.mjs: toolset dice (roll)\nok\n' })
    for (const what of ['a timer', 'a server'])
      expect(stderr).toContain(`warning: The import of the plugin "./busy.mjs" leaves ${what} running; do that in`)
  })

  it('check ends when the configuration has an error', async () => {
    const { dir } = writePlugins({ 'busy.mjs': leftovers })
    writeConfig(dir, { plugins: ['./busy.mjs'], channels: { nowhere: {} } })
    expect(await run(dir, ['check'])).toMatchObject({ code: 1 })
  })

  it('doctor ends', async () => {
    const { dir } = writePlugins({ 'busy.mjs': leftovers })
    const { stdout } = await run(dir, ['doctor', '--offline', '--json'])
    const findings = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; problem: string })
    expect(findings.filter(({ id }) => id === 'plugin_faulty').map(({ problem }) => problem)).toContain(
      'The import of the plugin "./busy.mjs" leaves a timer running.',
    )
  })

  it('setup ends', async () => {
    const { dir } = writePlugins({ 'busy.mjs': leftovers })
    const args = ['setup', '--yes', '--force', '--no-test', '--model', 'builtin/echo', '--set', 'plugins=./busy.mjs']
    expect(await run(dir, args)).toMatchObject({ code: 0 })
  })

  it('a start that fails ends', async () => {
    const { dir, file } = writePlugins({ 'busy.mjs': leftovers })
    writeConfig(dir, { plugins: ['./busy.mjs'], channels: { nowhere: {} } })
    expect(await run(dir, ['start', '--config', file])).toMatchObject({ code: 1 })
  })
})

describe('a plugin that ends the process while it is imported', () => {
  it.each(['exit.mjs', 'exit.ts'])('is named by check, and the others are loaded: %s', async (file) => {
    const { dir } = writePlugins({ [file]: 'process.exit(0)', 'dice.mjs': dice })
    const { code, stdout, stderr } = await run(dir, ['check'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: './dice.mjs: toolset dice (roll)\n' })
    expect(stderr).toContain(refusal(file, 'Error: it called process.exit(0), at '))
    expect(stderr).toContain(`${file}:1`)
  })

  it('does not end the gateway', async () => {
    const { file } = writePlugins({ 'exit.mjs': 'process.exit(3)' })
    const gateway = await spawnGateway(file)
    expect(gateway.log.join('\n')).toContain('it called process.exit(3)')
    expect(await gateway.end('SIGTERM')).toBe(0)
  })
})

describe('a plugin that ends the process right after its import', () => {
  const later = `setTimeout(process.exit, 1, 0)\nsetTimeout(() => process.exit(0), 1)\n${dice}`
  const sentence = refusal('later.mjs', 'Error: it called process.exit(0)')

  it.each([['check'], ['doctor', '--offline']])('is named by %s', async (...args) => {
    const { dir, file } = writePlugins({ 'later.mjs': later, 'other.mjs': dice })
    const { code, stdout, stderr } = await run(dir, [...args, '--config', file])
    expect({ code, said: stdout + stderr }).toEqual({ code: 1, said: expect.stringContaining(sentence) })
  })

  it('is named by setup, which writes nothing', async () => {
    const { dir } = writePlugins({ 'later.mjs': later })
    const args = ['setup', '--yes', '--force', '--no-test', '--model', 'builtin/echo', '--set', 'plugins=./later.mjs']
    const { code, stderr } = await run(dir, args)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(sentence) })
    expect(stderr).toMatch(/Nothing was written\.\n$/)
  })

  it('does not end the gateway', async () => {
    const { file } = writePlugins({ 'later.mjs': later })
    const gateway = await spawnGateway(file)
    expect(gateway.log.join('\n')).toContain('it called process.exit(0)')
    expect(await gateway.end('SIGTERM')).toBe(0)
  })
})

describe('a plugin that ends the gateway later', () => {
  it('is named, and the exit code is no success', async () => {
    const { dir, file } = writePlugins({ 'later.mjs': `setTimeout(() => process.exit(0), 3_000)\n${dice}` })
    const { code, stderr } = await run(dir, ['start', '--config', file])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(
        '"./later.mjs" ended the process after its import (Error: it called process.exit(0)',
      ),
    })
  })
})

describe('a plugin that blocks the process while it is imported', () => {
  it('is interrupted and named, and the command ends', async () => {
    const { dir } = writePlugins({ 'loop.mjs': 'while (true) {}', 'dice.mjs': dice })
    // To find a command, an import may take less time than for `check`.
    const { code, stdout, stderr } = await run(dir, ['roll'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('The plugin "./loop.mjs" blocks the process while it is imported; it is interrupted.\n')
    expect(stderr).toContain(refusal('loop.mjs', ''))
  })
})
