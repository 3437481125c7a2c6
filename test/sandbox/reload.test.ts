// Reloading of transforms: a valid change takes effect, a broken one does not, and no run is lost.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { faultOf, run, startSandbox } from './start-sandbox.ts'

const answering = (message: string): string => `export default () => ({ message: '${message}' })`

describe('a change of a file', () => {
  it('takes effect when the file, an imported file, or a replaced file changes', async () => {
    const { sandbox, write, dir, lines } = startSandbox({
      'a.ts': `import { word } from './lib/word.ts'\nexport default () => ({ message: word })`,
      'lib/word.ts': `export const word = 'one'`,
    })
    const a = sandbox.load('a.ts')
    expect((await run(a)).result).toEqual({ message: 'one' })
    write('lib/word.ts', `export const word = 'two'`)
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'two' })
    writeFileSync(join(dir, 'lib', '.word.swp'), `export const word = 'three'`)
    renameSync(join(dir, 'lib', '.word.swp'), join(dir, 'lib', 'word.ts'))
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'three' })
    write('a.ts', answering('four'))
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'four' })
    expect(lines.filter(({ level }) => level !== 'info')).toEqual([])
    expect(lines.map(({ message }) => message)).toEqual([
      'transform loaded',
      'transform reloaded',
      'transform reloaded',
      'transform reloaded',
    ])
  })

  it.each([
    ['does not compile', 'export default () => {', /does not compile at line/],
    ['throws when it is loaded', `throw new Error('early')`, /cannot be loaded: Error: early at a\.ts:1/],
    ['loops when it is loaded', 'for (;;);', /did not end within its time limit while it was loaded/],
    ['exports no function', 'export const x = 1', /its default export is not a function/],
    ['imports a module of Node', `import 'node:fs'\n${answering('x')}`, /imports "node:fs"/],
    ['is empty', '', /its default export is not a function/],
  ])('that %s leaves the last good version in use and is logged', async (_name, code, problem) => {
    const { sandbox, write, lines } = startSandbox({ 'a.ts': answering('good') }, { loadMs: 1000 })
    const a = sandbox.load('a.ts')
    expect((await run(a)).result).toEqual({ message: 'good' })
    write('a.ts', code)
    await expect.poll(() => a.state().problem).toMatch(problem)
    expect(a.state().state).toBe('ready')
    expect((await run(a)).result).toEqual({ message: 'good' })
    expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([
      {
        level: 'warn',
        fields: { transform: 'a.ts', reason: expect.stringMatching(problem) },
        message: 'the new version of a transform cannot be used; the last good one stays',
      },
    ])
    write('a.ts', answering('fixed'))
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'fixed' })
    expect(a.state().problem).toBeUndefined()
  })

  it('loses no run', async () => {
    const { sandbox, write } = startSandbox({ 'a.js': answering('version 0') })
    const a = sandbox.load('a.js')
    await a.ready
    let over = false
    const seen = new Set<string>()
    const callers = Array.from({ length: 4 }, async () => {
      while (!over) seen.add(((await run(a)).result as { message: string }).message)
    })
    for (let version = 1; version <= 5; version++) {
      write('a.js', version % 2 ? answering(`version ${version}`) : 'broken(')
      await expect
        .poll(() => (version % 2 ? seen.has(`version ${version}`) : a.state().problem !== undefined))
        .toBe(true)
    }
    over = true
    await Promise.all(callers)
    expect([...seen]).toEqual(['version 0', 'version 1', 'version 3', 'version 5'])
  })
})

describe('a missing file', () => {
  it('makes runs fail until it is created with its folder', async () => {
    const { sandbox, write, lines } = startSandbox()
    const late = sandbox.load('new/folder/late.ts')
    const error = await faultOf(run(late))
    expect([error.fault, error.message]).toEqual([
      'missing',
      'There is no new/folder/late.ts in the transforms directory; check the name and its extension.',
    ])
    expect(lines).toEqual([
      {
        level: 'error',
        fields: expect.objectContaining({ transform: 'new/folder/late.ts' }),
        message: expect.stringContaining('until the file is fixed'),
      },
    ])
    write('new/folder/late.ts', answering('there'))
    await expect.poll(() => late.state().state).toBe('ready')
    expect((await run(late)).result).toEqual({ message: 'there' })
  })

  it('leaves the last good version in use if it was deleted', async () => {
    const { sandbox, dir } = startSandbox({ 'a.js': answering('good') })
    const a = sandbox.load('a.js')
    await a.ready
    rmSync(join(dir, 'a.js'))
    await expect.poll(() => a.state().problem).toMatch(/There is no a\.js/)
    expect((await run(a)).result).toEqual({ message: 'good' })
  })

  it('is found when its folder is created, and followed when the folder is replaced', async () => {
    const { sandbox, dir, home, write } = startSandbox()
    rmSync(dir, { recursive: true })
    const a = sandbox.load('a.js')
    expect((await faultOf(run(a))).fault).toBe('missing')
    write('a.js', answering('one'))
    await expect.poll(() => a.state().state).toBe('ready')
    renameSync(dir, join(home, 'old'))
    write('a.js', answering('two'))
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'two' })
    write('a.js', answering('three'))
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'three' })
  })
})
