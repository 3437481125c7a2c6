// Endless loops of plugins, and imports that do not end: each command waits for the whole time limit of an import.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { run } from '../cli/command-line.ts'
import { temporaryFolder, writeConfig } from '../helpers.ts'

describe('a plugin that blocks the process while it is imported', () => {
  const write = (file: string, code: string): string => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, file), code)
    writeConfig(dir, { plugins: [`./${file}`] })
    return dir
  }

  it.each([
    ['loop.mjs', 'check'],
    ['loop.ts', 'check'],
    ['loop.cjs', 'doctor'],
  ])('is interrupted and refused: %s by %s', async (file, command) => {
    const dir = write(file, 'while (true) {}')
    const { code, stdout, stderr } = await run(dir, [command])
    expect(code).toBe(1)
    expect(stderr).toContain(`The plugin "./${file}" blocks the process while it is imported; it is interrupted.\n`)
    expect(stdout + stderr).toContain(`The plugin "./${file}" was refused: importing it failed`)
  })

  it('from a timer is named before the process ends', async () => {
    const dir = write('loop.mjs', 'setTimeout(() => { while (true) {} })\nawait new Promise(() => {})')
    const { code, stderr } = await run(dir, ['check'])
    expect(code).not.toBe(0)
    expect(stderr).toContain('The plugin "./loop.mjs" blocks the process while it is imported')
  })
})

describe('svc-gateway plugin check', () => {
  const dice = `import { defineToolset, Type } from 'svc-gateway/plugin'
    const tool = { name: 'roll', description: 'Rolls.', args: Type.Object({}), execute: () => 1 }
    export default defineToolset({ name: 'dice', description: 'Dice.', tools: [tool] })`

  it.each([
    [
      'never ends its import',
      'await new Promise(() => {})',
      /was refused: importing it failed \(Error: the import did not end within 10000 ms\)/,
    ],
    [
      'blocks the process later',
      `setTimeout(() => { for (;;); }, 600)\n${dice}`,
      /blocks the process after its import; let its loops wait for something\./,
    ],
  ])('names a module that %s', async (_what, code, sentence) => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'odd.mjs'), code)
    const done = await run(dir, ['plugin', 'check', 'odd.mjs', '--json'])
    expect(done.code).toBe(1)
    const { findings } = JSON.parse(done.stdout) as { findings: { severity: string; sentence: string }[] }
    expect(findings.filter(({ severity }) => severity === 'error').map((one) => one.sentence)).toEqual([
      expect.stringMatching(sentence),
    ])
  })
})
