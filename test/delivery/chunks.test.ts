// Cutting a reply into messages: nothing lost, nothing too long, no character halved, every code block closed.
import { describe, expect, it } from 'vitest'
import { splitIntoChunks } from '../../core/delivery/chunks.ts'

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Numbers from 0 to below 1, the same for the same seed. */
function createRandom(state: number): () => number {
  let a = state
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), a | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What is wrong with these chunks of a text. */
function faultOf(text: string, chunks: readonly string[], limit: number): string | undefined {
  const bare = (value: string) => value.replaceAll(/[\s`]/g, '')
  if (bare(chunks.join('')) !== bare(text)) return 'something was lost or changed'
  for (const piece of chunks) {
    if (piece.length > limit) return 'a chunk is too long'
    if (!piece.trim()) return 'a chunk is blank'
    if (!piece.isWellFormed()) return 'a character is halved'
  }
  return chunks.slice(0, -1).some((piece) => fences(piece) % 2 === 1) ? 'a code block is left open' : undefined
}

const fences = (text: string) => text.split('\n').filter((line) => line.startsWith('```')).length

describe('chunks', () => {
  it.each([
    ['a short text as it is', 'Hello.', 20, ['Hello.']],
    ['nothing of nothing', ' \n ', 20, []],
    ['exactly the limit as one', 'x'.repeat(20), 20, ['x'.repeat(20)]],
    ['paragraphs', 'First paragraph.\n\nSecond paragraph.', 20, ['First paragraph.', 'Second paragraph.']],
    ['lines', 'First line is it.\nSecond line is it.', 20, ['First line is it.', 'Second line is it.']],
    ['words', 'one two three four five', 14, ['one two three', 'four five']],
    ['a word that is too long', 'x'.repeat(25), 10, ['x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)]],
    ['between characters of two halves', '👍👍👍', 3, ['👍', '👍', '👍']],
    ['characters of two halves even where nothing fits', '👍👍', 1, ['👍', '👍']],
    [
      'a code block, closed and opened again',
      '```js\nline one\nline two\nline three\n```',
      24,
      ['```js\nline one\n```', '```js\nline two\n```', '```js\nline three\n```'],
    ],
    [
      'a code block that begins with the next message',
      'Some words before.\n```js\nline one\nline two\n```',
      30,
      ['Some words before.', '```js\nline one\nline two\n```'],
    ],
    [
      'no empty code block of a closing line',
      'Words.\n```\nline one\n\n```\nThe end of it.',
      30,
      ['Words.\n```\nline one\n```', 'The end of it.'],
    ],
  ])('make %s', (...[, text, limit, chunks]) => {
    expect(splitIntoChunks(text, limit)).toEqual(chunks)
  })

  it(`keep their word for any text (SEED=${seed})`, () => {
    const random = createRandom(seed)
    const pieces = ['word', 'a', ' ', ' ', '\n', '\n\n', '👍', '漢字', '\n```\n', 'x'.repeat(50), '. ', '']
    for (let round = 0; round < 3000; round++) {
      const text = Array.from(
        { length: 1 + Math.floor(random() * 60) },
        () => pieces[Math.floor(random() * pieces.length)],
      ).join('')
      const limit = 24 + Math.floor(random() * 100)
      const fault = faultOf(text, splitIntoChunks(text, limit), limit)
      expect(fault && { fault, text, limit }).toBeUndefined()
    }
  })

  it('are made in time in proportion to the text', () => {
    for (const text of [
      '```\n'.repeat(25_000),
      'x'.repeat(100_000),
      ' x'.repeat(50_000),
      `\`\`\`${'x\n'.repeat(50_000)}`,
    ])
      expect(splitIntoChunks(text, 100).length).toBeGreaterThan(100)
  })
})
