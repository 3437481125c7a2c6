// Reloading of transforms: a valid change takes effect, a broken one does not, and no run is lost.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { faultOf, run, shareSandbox, startSandbox } from './start-sandbox.ts'

const answering = (message: string): string => `export default () => ({ message: '${message}' })`

const broken: [string, string, RegExp][] = [
  ['does not compile', 'export default () => {', /does not compile at line/],
  ['throws when it is loaded', `throw new Error('early')`, /cannot be loaded: Error: early at a\.ts:1/],
  ['loops when it is loaded', 'for (;;);', /did not end within its time limit while it was loaded/],
  ['exports no function', 'export const x = 1', /its default export is not a function/],
  ['imports a module of Node', `import 'node:fs'\n${answering('x')}`, /imports "node:fs"/],
  ['is empty', '', /its default export is not a function/],
]

const shared = shareSandbox(Object.fromEntries(broken.map(([what]) => [`${what}/a.ts`, answering('good')])), {
  loadMs: 1000,
})

/** What the sandbox has logged about a transform. */
const linesOf = (transform: string) => shared().lines.filter(({ fields }) => fields['transform'] === transform)

describe('a change of a file', () => {
  it('takes effect when the file, an imported file, or a replaced file changes', async () => {
    const { sandbox, write, dir } = shared()
    write('a.ts', `import { word } from './lib/word.ts'\nexport default () => ({ message: word })`)
    write('lib/word.ts', `export const word = 'one'`)
    const a = sandbox.load('a.ts')
    expect((await run(a)).result).toEqual({ message: 'one' })
    write('lib/word.ts', `export const word = 'two'`)
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'two' })
    writeFileSync(join(dir, 'lib', '.word.swp'), `export const word = 'three'`)
    renameSync(join(dir, 'lib', '.word.swp'), join(dir, 'lib', 'word.ts'))
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'three' })
    write('a.ts', answering('four'))
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'four' })
    expect(linesOf('a.ts').map(({ level, message }) => [level, message])).toEqual([
      ['info', 'transform loaded'],
      ['info', 'transform reloaded'],
      ['info', 'transform reloaded'],
      ['info', 'transform reloaded'],
    ])
  })

  // At the same time, so that they are reloaded together.
  it.concurrent.for(broken)('that %s leaves the last good version in use and is logged', async (one, { expect }) => {
    const [what, code, problem] = one
    const { sandbox, write } = shared()
    const file = `${what}/a.ts`
    const a = sandbox.load(file)
    expect((await run(a)).result).toEqual({ message: 'good' })
    write(file, code)
    await expect.poll(() => a.state().problem).toMatch(problem)
    expect(a.state().state).toBe('ready')
    expect((await run(a)).result).toEqual({ message: 'good' })
    expect(linesOf(file).filter(({ level }) => level === 'warn' || level === 'error')).toEqual([
      {
        level: 'warn',
        fields: { transform: file, reason: expect.stringMatching(problem) },
        message: 'the new version of a transform cannot be used; the last good one stays',
      },
    ])
    write(file, answering('fixed'))
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'fixed' })
    expect(a.state().problem).toBeUndefined()
  })

  it('loses no run', async () => {
    const { sandbox, write } = shared()
    write('busy.js', answering('version 0'))
    const a = sandbox.load('busy.js')
    await a.ready
    let over = false
    const seen = new Set<string>()
    const callers = Array.from({ length: 4 }, async () => {
      while (!over) seen.add(((await run(a)).result as { message: string }).message)
    })
    for (let version = 1; version <= 5; version++) {
      write('busy.js', version % 2 ? answering(`version ${version}`) : 'broken(')
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
    const { sandbox, write } = shared()
    const late = sandbox.load('new/folder/late.ts')
    const error = await faultOf(run(late))
    expect([error.fault, error.message]).toEqual([
      'missing',
      'There is no new/folder/late.ts in the transforms directory; check the name and its extension.',
    ])
    expect(linesOf('new/folder/late.ts')).toEqual([
      {
        level: 'error',
        fields: expect.anything(),
        message: expect.stringContaining('until the file is fixed'),
      },
    ])
    write('new/folder/late.ts', answering('there'))
    await expect.poll(() => late.state().state).toBe('ready')
    expect((await run(late)).result).toEqual({ message: 'there' })
  })

  it('leaves the last good version in use if it was deleted', async () => {
    const { sandbox, dir, write } = shared()
    write('gone.js', answering('good'))
    const a = sandbox.load('gone.js')
    await a.ready
    rmSync(join(dir, 'gone.js'))
    await expect.poll(() => a.state().problem).toMatch(/There is no gone\.js/)
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
