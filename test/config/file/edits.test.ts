// Edits of single keys in a configuration text.
import JSON5 from 'json5'
import { describe, expect, it } from 'vitest'
import { applyEdits, type Edit } from '../../../core/config/file/edits.ts'

const text = `// The first line.
{
  hooks: {
    path: '/hooks', // the prefix
    mappings: [
      { id: 'one' }, // the first
    ],
  },
  port: 1,
}
`

const edit = (...edits: Edit[]): string => applyEdits('gateway.json5', text, edits)

describe('applyEdits', () => {
  it.each<[what: string, edit: Edit, replaced: readonly [string, string]]>([
    ['replaces a value', { path: ['hooks', 'path'], value: '/in' }, ["'/hooks'", "'/in'"]],
    ['replaces an item', { path: ['hooks', 'mappings', '0', 'id'], value: 'two' }, ["'one'", "'two'"]],
    [
      'adds an item to a list',
      { path: ['hooks', 'mappings', '-'], value: { id: 'two' } },
      ['// the first\n', "// the first\n      { id: 'two' },\n"],
    ],
    [
      'adds an item before another one',
      { path: ['hooks', 'mappings', '0'], value: { id: 'zero' }, before: true },
      ["      { id: 'one' }", "      { id: 'zero' },\n      { id: 'one' }"],
    ],
    [
      'creates the objects and the list around a value',
      { path: ['agents', 'main', 'tags', '-'], value: 'x' },
      ['{\n  hooks', "{\n  agents: { main: { tags: ['x'] } },\n  hooks"],
    ],
    ['replaces what is no object', { path: ['port', 'number'], value: 2 }, ['port: 1', 'port: { number: 2 }']],
    ['removes a key', { path: ['port'] }, ['\n  port: 1,', '']],
    ['changes nothing where there is nothing to remove', { path: ['log', 'level'] }, ['', '']],
    [
      'keeps a null that is a value',
      { path: ['hooks', 'mappings', '0'], value: { match: { payload: { closed: null } } } },
      ["{ id: 'one' }", '{ match: { payload: { closed: null } } }'],
    ],
  ])('%s', (_what, one, [before, after]) => {
    expect(edit(one)).toBe(text.replace(before, () => after))
  })

  it('applies several edits in order', () => {
    const changed = edit(
      { path: ['hooks', 'mappings', '-'], value: { id: 'two' } },
      { path: ['hooks', 'mappings', '1', 'id'], value: 'three' },
      { path: ['hooks', 'mappings', '0'] },
    )
    expect(JSON5.parse(changed)).toEqual({ hooks: { path: '/hooks', mappings: [{ id: 'three' }] }, port: 1 })
    expect(changed).toContain('// the prefix')
  })

  it.each([['7'], ['name'], ['-', 'id']])('refuses the item %s of a list, which does not exist', (...keys) => {
    const refused = () => edit({ path: ['hooks', 'mappings', ...keys], value: 1 })
    expect(refused).toThrow(`line 5: hooks.mappings has no item "${keys[0]}"; the key "-" adds one at the end`)
  })

  it.each([
    ['[1, 2]', '1', '[1, 0, 2]'],
    ['[{ a: 1 }]', '0', '[0, { a: 1 }]'],
    [
      '[\n    1,\n    // The second.\n    // It is large.\n    2,\n  ]',
      '1',
      '[\n    1,\n    0,\n    // The second.\n    // It is large.\n    2,\n  ]',
    ],
  ])('adds an item to %j before item %s, and keeps comments with theirs', (list, index, expected) => {
    const given = `{\n  list: ${list},\n}`
    const changed = applyEdits('gateway.json5', given, [{ path: ['list', index], value: 0, before: true }])
    expect(changed).toBe(given.replace(list, expected))
  })

  it('adds nothing before what is not an item of a list', () => {
    const before = (...path: string[]) => edit({ path, value: 1, before: true })
    expect(() => before('hooks', 'path')).toThrow('line 4: hooks.path is not an item of a list')
    expect(() => before('hooks', 'mappings', '1')).toThrow('hooks.mappings has no item "1"')
  })

  it('refuses a text that is not a JSON5 object', () => {
    expect(() => applyEdits('gateway.json5', '{ a: ', [{ path: ['a'], value: 1 }])).toThrow('invalid JSON5')
    expect(() => applyEdits('gateway.json5', '[]', [{ path: ['a'], value: 1 }])).toThrow('must be an object')
  })
})
