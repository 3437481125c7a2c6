// The time that formatting takes grows with the length of the text, whatever the text is.
import { describe, expect, it } from 'vitest'
import whatsapp from '../../channels/whatsapp/index.ts'
import { splitIntoChunks } from '../../core/delivery/format/chunks.ts'

const repeat =
  (part: string, { before = '', after = '' } = {}) =>
  (length: number): string =>
    before + part.repeat(Math.ceil(length / part.length)) + after

/** Texts of any length that have taken parsers, or our own code, more than linear time. */
const texts: Record<string, (length: number) => string> = {
  'exclamation marks': repeat('!'),
  'links in links': repeat('[[a](b)]('),
  'opening brackets': repeat('['),
  'closing brackets': repeat(']'),
  images: repeat('!['),
  links: repeat('[a](https://b.example) '),
  'open links': repeat('[a]('),
  'open titles': repeat('[a](b "'),
  parentheses: repeat('(', { before: '[a](b' }),
  emphasis: repeat('*a **b '),
  stars: (length) => `${'*'.repeat(length / 2)}x${'*'.repeat(length / 2)}`,
  'stars and underscores': (length) => `${'*_'.repeat(length / 4)}x${'_*'.repeat(length / 4)}`,
  underscores: repeat('_a'),
  strikes: repeat('~~a '),
  'words with many marks': repeat('a b ', { before: '**_'.repeat(10), after: '_**'.repeat(10) }),
  'ordered lists in one line': repeat('1. '),
  'quotes in lists in one line': repeat('- > '),
  'nested quotes': repeat('>', { after: ' x' }),
  'nested lists': (length) => Array.from({ length: Math.sqrt(length) }, (_, n) => `${' '.repeat(2 * n)}- x`).join('\n'),
  'lines that continue a quote': repeat('b\n', { before: `${'> '.repeat(19)}a\n` }),
  'lines that continue a list': repeat('b\n', { before: `${'1. '.repeat(9)}a\n` }),
  items: repeat('- a\n'),
  'items with blank lines': repeat('- a\n\n'),
  tasks: repeat('- [ ] '),
  backticks: repeat('`'),
  'lone backticks': repeat('` '),
  'backticks of growing length': (length) =>
    Array.from({ length: Math.sqrt(2 * length) }, (_, n) => `${'`'.repeat(n)}e`).join(''),
  'code fences': repeat('~~~ \n```\n'),
  tags: repeat('<a '),
  'less-than signs': repeat('<'),
  ampersands: repeat('&'),
  entities: repeat('&#x'),
  backslashes: repeat('\\'),
  addresses: repeat('https://a.example '),
  'starts of addresses': repeat('http://'),
  'mail addresses': repeat('a@'),
  'addresses in angle brackets': repeat('<http:'),
  definitions: (length) => Array.from({ length: length / 10 }, (_, n) => `[${n}]: a${n}`).join('\n'),
  'uses of a definition': repeat('[a]', { before: '[a]: b\n\n' }),
  'open titles of definitions': repeat('\n[a]: b "'),
  rows: repeat('|**x**|[y](z)|\n', { before: '|a|b|\n|-|-|\n' }),
  columns: (length) => `${'|a'.repeat(length / 4)}|\n${'|-'.repeat(length / 4)}|\n`,
  'a wide cell and many rows': (length) => `|${'a'.repeat(length / 2)}|b|\n|-|-|\n${'|x|y|\n'.repeat(length / 12)}`,
  'underlined lines': repeat('a\n', { after: '===' }),
  headings: repeat('# '),
  'trailing spaces': repeat(`a${' '.repeat(50)}\n`),
  spaces: repeat(' ', { before: 'a', after: 'b' }),
  'blank lines': repeat('\n', { before: 'a', after: 'b' }),
  'combining characters': repeat('\u0301', { before: 'a' }),
  'emoji of several code points': repeat('👨‍👩‍👧'),
  'one long word': repeat('x'),
  'half surrogate pairs': repeat('\ud800'),
  'NUL characters': repeat('\0'),
  'marks of all kinds': repeat('*[`<!_~&\\'),
}

const formats = ['html', whatsapp.limits.format, 'plain', 'markdown'] as const
const short = 12_000
/** Below this, the time says nothing. */
const noiseMs = 60

async function cpuMsOf(text: string): Promise<number> {
  const before = process.cpuUsage()
  for (const format of formats) await splitIntoChunks(text, { maxText: 4096, format })
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

describe('the time of formatting', () => {
  it.each(Object.entries(texts))('is linear: %s', async (_name, write) => {
    const [text, twice] = [write(short), write(2 * short)]
    let growth = Infinity
    // Garbage collection and the compiler disturb single measurements: one that is linear suffices.
    for (let tries = 0; tries < 5 && growth > 3; tries++) {
      const once = await cpuMsOf(text)
      growth = (await cpuMsOf(twice)) / Math.max(once, noiseMs)
    }
    expect(growth).toBeLessThanOrEqual(3)
  })
})

describe('a text as long as a reply may be', () => {
  it.each(['lone backticks', 'emphasis', 'items', 'blank lines', 'one long word', 'code fences'])(
    'is formatted in many turns of the event loop, so that requests are answered meanwhile: %s',
    async (name) => {
      const text = texts[name]!(100_000)
      for (const format of formats) {
        let turns = 0
        let isDone = false
        const count = (): void => {
          turns++
          if (!isDone) setImmediate(count)
        }
        setImmediate(count)
        await splitIntoChunks(`x\n\n${text}x`, { maxText: 4096, format })
        isDone = true
        expect(turns).toBeGreaterThan(format === 'markdown' && name === 'blank lines' ? 0 : 8)
      }
    },
  )
})
