// The positions of keys in a JSON5 text.
import JSON5 from 'json5'
import { describe, expect, it } from 'vitest'
import { readLayout } from '../../../core/config/file/layout.ts'
import { createRandom, randomText, seed } from '../random.ts'

describe('readLayout', () => {
  it('finds the place of every key, and of the parent of a missing one', () => {
    const layout = readLayout(`// first
{
  "a": { b: [1,
    2, { 'c': 'x' }] },
  d /* : */ : 5,
}`)
    const places = [
      [],
      ['a'],
      ['a', 'b'],
      ['a', 'b', '1'],
      ['a', 'b', '2', 'c'],
      ['d'],
      ['a', 'missing', 'deep'],
      ['e'],
    ].map((keys) => Object.values(layout.placeOf(keys)))
    expect(places).toEqual([
      [2, 1],
      [3, 3],
      [3, 10],
      [4, 5],
      [4, 10],
      [5, 3],
      [3, 3],
      [2, 1],
    ])
  })

  it('finds the outermost repeated keys', () => {
    expect(readLayout('{ a: { b: 1 },\n a: { b: 2 },\n c: [{ d: 1, \n"d": 2 }] }').repeated).toEqual([
      { keys: ['a'], line: 2, column: 2 },
      { keys: ['c', '0', 'd'], line: 4, column: 1 },
    ])
  })

  it(`finds every key of random texts (SEED=${seed})`, () => {
    const random = createRandom(seed)
    for (let round = 0; round < 500; round++) {
      const { text, places } = randomText(random)
      JSON5.parse(text)
      const layout = readLayout(text)
      // The text is compared too, so that a failure shows it.
      expect({
        text,
        found: places.map(({ keys }) => ({ keys, line: layout.placeOf(keys).line })),
        repeated: layout.repeated,
      }).toEqual({
        text,
        found: places,
        repeated: [],
      })
    }
  })

  it('reads a large text in linear time', () => {
    const text = JSON.stringify({ list: Array.from({ length: 20_000 }, (_, id) => ({ id })) }, null, 1)
    expect(readLayout(text).placeOf(['list', '19999', 'id'])).toEqual({ line: 60_001, column: 4 })
  })
})
