// The files that a transform may consist of: only those inside the transforms directory, whatever links lead outside.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PathError } from '../../core/config/file/paths.ts'
import { createSandbox } from '../../core/sandbox/sandbox.ts'
import { faultOf, run, shareSandbox, startSandbox } from './start-sandbox.ts'

const answering = (message: string): string => `export default () => ({ message: '${message}' })`

describe('the module of a transform', () => {
  const names = ['a.ts', 'a.mts', 'a.js', 'a.mjs', 'sub/folder/a.ts', './b.ts']
  const shared = shareSandbox({
    ...Object.fromEntries(names.map((name) => [name, answering(name)])),
    'common.cjs': `const { word } = require('./word.cjs'); module.exports = () => ({ message: word })`,
    'word.cjs': `exports.word = 'cjs'`,
    'mixed.ts': `import table from './data/table.json'
      import { up } from '../transforms/sub/up.ts'
      enum Kind { A = 'kind' }
      export default () => ({ message: up(table.word) + Kind.A })`,
    'data/table.json': '{"word":"json"}',
    'sub/up.ts': `import { bang } from '../bang.mts'
      export const up = (text: string): string => text.toUpperCase() + bang`,
    'bang.mts': `export const bang: string = '!'`,
  })

  it.each(names)('may be %s', async (name) => {
    expect((await run(shared().sandbox.load(name))).result).toEqual({ message: name })
  })

  it('may be CommonJS, and may use enums, JSON and other files', async () => {
    const { sandbox } = shared()
    expect((await run(sandbox.load('common.cjs'))).result).toEqual({ message: 'cjs' })
    expect((await run(sandbox.load('mixed.ts'))).result).toEqual({ message: 'JSON!kind' })
  })

  it.each([
    '../outside.js',
    'sub/../../outside.js',
    '/etc/passwd',
    'file:///etc/passwd',
    'data:text/javascript,export default 1',
    'node:fs',
    '~/a.js',
    'C:\\a.js',
    '\\\\host\\a.js',
    '',
    'a.js\0.ts',
  ])('is refused when its path is %j', (module) => {
    const { sandbox } = startSandbox({ 'a.js': answering('x') })
    expect(() => sandbox.load(module)).toThrow(PathError)
  })

  it('is refused when a link in its path leads outside', () => {
    const { sandbox, dir, home } = startSandbox()
    writeFileSync(join(home, 'outside.js'), answering('outside'))
    symlinkSync('../outside.js', join(dir, 'file.js'))
    symlinkSync('..', join(dir, 'folder'))
    expect(() => sandbox.load('file.js')).toThrow(/file\.js" resolves to .*outside\.js, which is outside/)
    expect(() => sandbox.load('folder/outside.js')).toThrow(PathError)
  })

  it('is refused when the transforms directory is a link that leads outside', () => {
    const { dir, home } = startSandbox()
    mkdirSync(join(home, 'elsewhere'))
    writeFileSync(join(home, 'elsewhere', 'a.js'), answering('outside'))
    symlinkSync('../elsewhere', join(dir, 'mine'))
    const sandbox = createSandbox({
      root: dir,
      dir: join(dir, 'mine'),
      log: { debug() {}, info() {}, warn() {}, error() {} },
    })
    expect(() => sandbox.load('a.js')).toThrow(PathError)
  })

  it('must be a regular file with a known extension', async () => {
    const { sandbox, dir } = startSandbox({ 'a.json': '{}', 'b.txt': 'x', 'folder.ts/x': '' })
    execFileSync('mkfifo', [join(dir, 'pipe.js')])
    for (const module of ['a.json', 'b.txt', 'folder.ts', 'pipe.js'])
      expect((await faultOf(run(sandbox.load(module)))).fault).toBe('compile')
  })
})

describe('an import', () => {
  it.each([
    ['of Node', `import 'node:fs'`],
    ['of Node without its scheme', `import 'fs'`],
    ['of a package', `import 'commander'`],
    ['of a file inside typebox', `import 'typebox/value'`],
    ['of a file above the folder', `import '../outside.js'`],
    ['by an absolute path', `import '/etc/hosts.js'`],
    ['by a URL', `import 'https://example.com/x.js'`],
    ['of a data URL', `import 'data:text/javascript,1'`],
    ['by require', `require('node:fs')`],
    ['at run time', `const x = import('node:fs')`],
    ['at run time with a computed name', `export const x = (name) => import(name)`],
    ['of an import map entry', `import '#core'`],
    ['of a link that leads outside', `import './link.js'`],
    ['of a missing file', `import './nothing.ts'`],
    ['of a file that is not code', `import './secret.pem'`],
    ['by a re-export', `export * from 'node:fs'`],
    ['in an imported file', `import './inner.js'`],
  ])('is refused %s', async (_name, code) => {
    const { sandbox, dir, home } = startSandbox({
      'a.js': `${code}\n${answering('x')}`,
      'inner.js': `import 'node:os'`,
      'secret.pem': 'x',
    })
    writeFileSync(join(home, 'outside.js'), '')
    symlinkSync('../outside.js', join(dir, 'link.js'))
    const error = await faultOf(run(sandbox.load('a.js')))
    expect(['compile', 'missing']).toContain(error.fault)
    expect(error.code).toBe('transform_failed')
  })

  it('is refused with a message that names the allowed imports', async () => {
    const { sandbox } = startSandbox({
      'a.ts': `import { readFileSync } from 'node:fs'
        export default () => ({ message: readFileSync('/etc/hostname', 'utf8') })`,
    })
    expect((await faultOf(run(sandbox.load('a.ts')))).message).toMatch(
      /^a\.ts imports "node:fs"; a transform may import files of the transforms directory/,
    )
  })
})

describe('a link that is replaced while the gateway runs', () => {
  it('is resolved again by each compilation, and rejected when it leads outside', async () => {
    const { sandbox, dir, home, lines } = startSandbox({ 'v1/a.js': answering('one'), 'v2/a.js': answering('two') })
    const point = (target: string): void => {
      symlinkSync(target, join(dir, 'next'))
      renameSync(join(dir, 'next'), join(dir, 'current'))
    }
    mkdirSync(join(home, 'elsewhere'))
    writeFileSync(join(home, 'elsewhere', 'a.js'), answering('outside'))
    point('v1')
    const a = sandbox.load('current/a.js')
    expect((await run(a)).result).toEqual({ message: 'one' })
    point('v2')
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'two' })
    point('../elsewhere')
    await expect.poll(() => a.state().problem).toMatch(/which is outside/)
    expect((await run(a)).result).toEqual({ message: 'two' })
    expect(lines.at(-1)).toMatchObject({ level: 'warn', message: expect.stringContaining('the last good one stays') })
    rmSync(join(dir, 'current'))
    point('v1')
    await expect.poll(async () => (await run(a)).result).toEqual({ message: 'one' })
  })
})
