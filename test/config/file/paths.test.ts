// Confining paths to a folder.
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { confine } from '../../../core/config/file/paths.ts'
import { temporaryFolder } from '../document.ts'

function setting() {
  const dir = realpathSync(temporaryFolder())
  const root = join(dir, 'root')
  mkdirSync(join(root, 'inside', '..named'), { recursive: true })
  mkdirSync(join(dir, 'root-beside'))
  for (const file of ['outside.js', 'root/a.js', 'root/inside/b.js', 'root/inside/..named/c.js', 'root-beside/d.js'])
    writeFileSync(join(dir, file), '')
  symlinkSync(join(dir, 'outside.js'), join(root, 'leak.js'))
  symlinkSync('../root-beside', join(root, 'beside'))
  symlinkSync('inside', join(root, 'door'))
  symlinkSync('loop', join(root, 'loop'))
  symlinkSync(root, join(dir, 'alias'))
  return { dir, root }
}

describe('confine', () => {
  it('returns the real path inside the root', () => {
    const { dir, root } = setting()
    expect(confine(root, 'a.js')).toBe(join(root, 'a.js'))
    expect(confine(root, './inside/b.js')).toBe(join(root, 'inside/b.js'))
    expect(confine(root, 'inside/..named/c.js')).toBe(join(root, 'inside/..named/c.js'))
    expect(confine(root, 'door/b.js')).toBe(join(root, 'inside/b.js'))
    expect(confine(join(dir, 'alias'), 'a.js')).toBe(join(root, 'a.js'))
    expect(confine(root, '.')).toBe(root)
  })

  it.each([
    '',
    ' ',
    '..',
    '../outside.js',
    'inside/../a.js',
    'inside\\..\\..\\x',
    '/etc/passwd',
    '~/x',
    '\\\\server\\x',
    'C:\\x',
    'c:x',
    'file:///etc/passwd',
    'data:x',
    'a.js\0',
  ])('rejects the syntax of %j', (path) => {
    const { root } = setting()
    expect(() => confine(root, path)).toThrow(
      `"${path}" must be a relative path without "..", "~", a drive or a scheme; it must be inside ${root}`,
    )
  })

  it('rejects a link to the outside and reports its target', () => {
    const { dir, root } = setting()
    expect(() => confine(root, 'leak.js')).toThrow(
      `"leak.js" resolves to ${join(dir, 'outside.js')}, which is outside ${root}`,
    )
    expect(() => confine(root, 'beside/d.js')).toThrow(
      `"beside/d.js" resolves to ${join(dir, 'root-beside/d.js')}, which is outside ${root}`,
    )
  })

  it('rejects a missing path', () => {
    const { root } = setting()
    expect(() => confine(root, 'missing.js')).toThrow(`"missing.js" does not exist inside ${root}`)
    expect(() => confine(root, 'loop')).toThrow('does not exist')
    expect(() => confine(join(root, 'nowhere'), 'a.js')).toThrow('nowhere does not exist')
  })
})
