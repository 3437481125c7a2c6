// Random JSON5 texts, reproducible by their seed.
import { onTestFailed } from 'vitest'

export interface RandomText {
  text: string
  /** Every key with its line. */
  places: { keys: string[]; line: number }[]
}

/** A seed for a test to print; `SEED=` repeats it. */
export const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Returns the seed for a test, and prints it if the test fails. */
export function chooseSeed(): number {
  onTestFailed(() => console.info(`SEED=${seed}`))
  return seed
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function createRandom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const gaps = [
  '',
  ' ',
  '\n',
  '\r\n',
  '\t',
  '// { "a": [1, \'\n',
  '/* { b: "} */',
  '/*\n * two lines\n */',
  '\n\n  ',
  '\u00A0',
  '// ] \r\n',
]
const names = [
  'plain',
  '$odd_1',
  'ünïcode',
  "it's",
  'say "hi"',
  'with: colon',
  '{brace}',
  '// no comment',
  '\\back',
  'tab\t',
  '0',
  '',
]
const scalars = [
  '1',
  '-.5e3',
  '+Infinity',
  '0xFF',
  'NaN',
  'true',
  'null',
  '"a }"',
  "'b ] // \\' no'",
  '"two\\\nlines"',
  '"\\u007b"',
]

/**
 * An object in one of the many ways to write one: comments anywhere, either kind of quotes, line breaks of both kinds.
 */
export function randomText(random: () => number): RandomText {
  const places: RandomText['places'] = []
  let text = ''
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const gap = () => (text += pick(gaps))
  const line = () => text.split(/\r\n|\n/).length
  const member = (keys: string[], depth: number, inObject: boolean) => {
    gap()
    places.push({ keys, line: line() })
    if (inObject) {
      text += spell(keys.at(-1) ?? '', random)
      gap()
      text += ':'
      gap()
    }
    value(keys, depth)
    gap()
  }
  const value = (keys: string[], depth: number) => {
    const inObject = random() < 0.6
    if (depth === 0 || random() < 0.3) {
      text += pick(scalars)
      return
    }
    const children = inObject
      ? names.filter(() => random() < 0.25)
      : Array.from({ length: Math.floor(random() * 3) }, (_, index) => String(index))
    text += inObject ? '{' : '['
    children.forEach((name, index) => {
      member([...keys, name], depth - 1, inObject)
      if (index < children.length - 1 || random() < 0.5) text += ','
    })
    gap()
    text += inObject ? '}' : ']'
  }
  gap()
  text += '{'
  member(['root'], 4, true)
  text += '}'
  gap()
  return { text, places }
}

/** A key in one of the notations of JSON5. */
function spell(name: string, random: () => number): string {
  if (/^[\p{L}$_][\p{L}\d$_]*$/u.test(name) && random() < 0.5) return name
  const double = JSON.stringify(name)
  return random() < 0.5 ? double : `'${double.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}
