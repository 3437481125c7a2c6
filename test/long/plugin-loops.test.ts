// Endless loops of plugins: each command waits for the whole time limit of an import.
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
