// Changing keys in the text of a JSON5 file and nothing else.
import JSON5 from 'json5'
import { describe, expect, it } from 'vitest'
import { mergeIntoText } from '../../../core/config/file/edit-text.ts'
import { createRandom, randomText, seed } from '../random.ts'

const text = `// The first line.
{
  // Where it listens.
  gateway: { // here
    port: 1, /* the port */ bind: '127.0.0.1',
    "auth": { token: "x" }, // secret
  },
  list: [1, /* two */ 2],
  'last': null
}
// The end.
`

describe('mergeIntoText', () => {
  it.each<[what: string, changes: Record<string, unknown>, replaced: readonly [string, string]]>([
    ['replaces a value', { gateway: { port: 2 } }, ['port: 1, /*', 'port: 2, /*']],
    ['replaces a list as a whole', { list: [3] }, ['[1, /* two */ 2]', '[3]']],
    ['replaces a value by an object', { last: { a: true } }, [`'last': null`, `'last': { a: true }`]],
    [
      'adds a key where others begin on a line of their own',
      { log: { level: 'info' } },
      ['{\n  // Where', `{\n  log: { level: 'info' },\n  // Where`],
    ],
    [
      'adds a key after a comment on the line of the brace',
      { gateway: { x: 1 } },
      ['// here\n', '// here\n    x: 1,\n'],
    ],
    [
      'adds a key to an object on one line',
      { gateway: { auth: { mode: 'token' } } },
      ['{ token: "x" }', `{ mode: 'token', token: "x" }`],
    ],
    ['removes a key in the midst of a line', { gateway: { bind: null } }, [` bind: '127.0.0.1',`, ' ']],
    ['removes the last key', { last: null }, [`\n  'last': null`, '']],
    ['changes nothing for a key that is not there', { nothing: null }, ['', '']],
  ])('%s', (_what, changes, [before, after]) => {
    expect(mergeIntoText(text, changes)).toBe(text.replace(before, () => after))
  })

  it('writes long values on several lines with the right indentation', () => {
    const models = Array.from({ length: 5 }, (_, n) => `provider/a-model-with-a-rather-long-name-${n}`)
    const changed = mergeIntoText('{\n  agents: {\n    defaults: { a: 1 },\n  },\n}', { agents: { other: { models } } })
    expect(changed).toContain(`\n    other: {\n      models: [\n        'provider/a-model`)
    expect(JSON5.parse(changed)).toEqual({ agents: { defaults: { a: 1 }, other: { models } } })
  })

  it('has the same result as merging the parsed values, for random texts', () => {
    const random = createRandom(seed)
    const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
    const keys = ['a', 'b', '$c', 'with space', '"', "'", '0', 'ünï']
    const object = (depth: number, holes: boolean): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: Math.floor(random() * 4) }, () => [pick(keys), value(depth - 1, holes)]))
    const value = (depth: number, holes: boolean): unknown =>
      depth > 0 && random() < 0.5
        ? object(depth, holes)
        : pick([
            1,
            -0.5,
            true,
            'text',
            "it's",
            '// no comment',
            '/*',
            '}',
            '\n',
            '',
            [1, { a: 2 }],
            ...(holes ? [null] : []),
          ])
    for (let round = 0; round < 500; round++) {
      const changes = object(3, true)
      const commented =
        random() < 0.5
          ? randomText(random).text
          : JSON5.stringify(object(3, false), null, 2).replaceAll('\n', () => pick(['\n', ' // c }\n', ' /* { */\n']))
      const before: unknown = JSON5.parse(commented)
      const after = mergeIntoText(commented, changes)
      expect(
        JSON5.parse(after),
        `seed ${seed}, round ${round}: ${commented} + ${JSON.stringify(changes)} = ${after}`,
      ).toEqual(merge(before, changes))
    }
  })
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function merge(before: unknown, changes: unknown): unknown {
  if (!isObject(changes)) return changes
  const merged: Record<string, unknown> = isObject(before) ? { ...before } : {}
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete merged[key]
    else merged[key] = merge(merged[key], value)
  }
  return merged
}
