// Splitting a reply into chunks: nothing is lost, no chunk is too long, and every code block is closed.
import { describe, expect, it } from 'vitest'
import { splitIntoChunks as split } from '../../core/delivery/format/chunks.ts'
import { createRandom, seed } from '../config/random.ts'

const splitIntoChunks = async (...args: Parameters<typeof split>): Promise<string[]> =>
  (await split(...args)).map(({ text }) => text)

/** What is wrong with these chunks of a text. */
function faultOf(text: string, chunks: readonly string[], limit: number): string | undefined {
  const bare = (value: string) => value.replaceAll(/[\s`]/g, '')
  if (bare(chunks.join('')) !== bare(text)) return 'something was lost or changed'
  for (const chunk of chunks) {
    if (chunk.length > limit) return 'a chunk is too long'
    if (!chunk.trim()) return 'a chunk is blank'
    if (!chunk.isWellFormed()) return 'a surrogate pair is split'
  }
  return chunks.slice(0, -1).some((chunk) => countCodeFences(chunk) % 2 === 1) ? 'a code block is left open' : undefined
}

const countCodeFences = (text: string) => text.split('\n').filter((line) => line.startsWith('```')).length

describe('splitIntoChunks of a text that stays Markdown', () => {
  const a = 'https://evil.example/?q=1'
  it.each([
    ['a picture', `See ![x](${a}).`, `See [x](${a}).`],
    ['a picture without a name', `![](${a} "t")`, `[image](${a} "t")`],
    ['a picture with a size', `![x](${a} =100x100)`, `[x](${a} =100x100)`],
    ['a picture after an exclamation mark', `Wow!![x](${a})`, `Wow[x](${a})`],
    ['a badge', `[![x](${a})](https://a.example)`, '[x](https://a.example)'],
    ['a picture in the name of a picture', `![![x](${a})](${a})`, `[x](${a})`],
    ['brackets in the name', `![a [b] c](${a})`, `! [a [b] c](${a})`],
    ['an escaped bracket in the name', `![a \\] b](${a})`, `! [a \\] b](${a})`],
    ['a name of several lines', `![a\nb](${a})`, `! [a\nb](${a})`],
    ['a reference', `![x][r]\n\n[r]: ${a}`, `[x][r]\n\n[r]: ${a}`],
    ['a reference by its name', `![r]\n\n[r]: ${a}`, `! [r]\n\n[r]: ${a}`],
    ['inline code, which ends elsewhere for other parsers', `\`![x](${a})\``, `\`[x](${a})\``],
    [
      'a block that is none for other parsers',
      `\`\`\`md a b\n\n![x](${a})\n\`\`\``,
      `\`\`\`md a b\n\n[x](${a})\n\`\`\``,
    ],
    ['a block of tildes', `~~~\n![x](${a})\n~~~`, `~~~\n[x](${a})\n~~~`],
    ['an HTML picture', `a <img alt="x" src="${a}"> b`, `a [x](${a}) b`],
    ['an HTML picture after an exclamation mark', `!<img src=${a}>`, `[image](${a})`],
    ['an HTML picture that is not closed', `a <img src="${a}"`, `a < img src="${a}"`],
    ['an HTML picture with a slash', `a <IMG/SRC=${a}>`, `a < IMG/SRC=${a}>`],
    ['an HTML element with a style', `a <p style="background:url(${a})">`, `a < p style="background:url(${a})">`],
    ['a block of HTML around code', `<div>\n\`\`\`\n\n![x](${a})\n\`\`\``, `< div>\n\`\`\`\n\n![x](${a})\n\`\`\``],
  ])('leaves nothing that is fetched without a click of %s', async (_what, text, expected) => {
    expect(await splitIntoChunks(text, { maxText: 2000 })).toEqual([expected])
  })

  it.each([
    ['a plain block of code', `\`\`\`md\n![x](${a}) <img src="${a}">\n\`\`\``],
    ['code that is no picture', 'Use `vec![1, 2]` and `Vec<u8>`, if a < b.'],
    ['links', `<${a}> [x](${a}) ${a}`],
    ['mentions', '<!channel> and <@U0000001>'],
  ])('keeps %s', async (_what, text) => {
    expect(await splitIntoChunks(text, { maxText: 2000 })).toEqual([text])
  })

  it('leaves no picture in what is written to confuse parsers', async () => {
    const parts = [
      '!',
      '[',
      ']',
      '(',
      ')',
      `](${a})`,
      '![x]',
      '`',
      '\n',
      '\n\n',
      '~~~',
      '\\',
      '<img src=',
      '>',
      ' ',
      '[r]: u',
    ]
    const random = createRandom(seed)
    for (let round = 0; round < 300; round++) {
      const text = Array.from({ length: 12 }, () => parts[Math.floor(random() * parts.length)]).join('')
      for (const chunk of await splitIntoChunks(text, { maxText: 2000 })) {
        const isPicture = /!\[/.test(chunk) && /\][([:]/.test(chunk)
        expect(isPicture || /<img\s/.test(chunk), `${seed}: ${JSON.stringify(text)}`).toBe(false)
      }
    }
  })
})

describe('splitIntoChunks', () => {
  it.each([
    ['a short text unchanged', 'Hello.', 20, ['Hello.']],
    ['no chunk of a blank text', ' \n ', 20, []],
    ['one chunk of exactly the limit', 'x'.repeat(20), 20, ['x'.repeat(20)]],
    ['paragraphs', 'First paragraph.\n\nSecond paragraph.', 20, ['First paragraph.', 'Second paragraph.']],
    ['lines', 'First line is it.\nSecond line is it.', 20, ['First line is it.', 'Second line is it.']],
    ['words', 'one two three four five', 14, ['one two three', 'four five']],
    ['a word that is too long', 'x'.repeat(25), 10, ['x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)]],
    ['chunks between surrogate pairs', '👍👍👍', 3, ['👍', '👍', '👍']],
    ['surrogate pairs even if they exceed the limit', '👍👍', 1, ['👍', '👍']],
    [
      'a code block, closed and reopened',
      '```js\nline one\nline two\nline three\n```',
      24,
      ['```js\nline one\n```', '```js\nline two\n```', '```js\nline three\n```'],
    ],
    [
      'a code block that begins with the next chunk',
      'Some words before.\n```js\nline one\nline two\n```',
      30,
      ['Some words before.', '```js\nline one\nline two\n```'],
    ],
    [
      'no empty code block from a closing line',
      'Words.\n```\nline one\n\n```\nThe end of it.',
      30,
      ['Words.\n```\nline one\n```', 'The end of it.'],
    ],
  ])('makes %s', async (...[, text, maxText, chunks]) => {
    expect(await splitIntoChunks(text, { maxText })).toEqual(chunks)
  })

  it(`loses nothing and respects the limit for any text (SEED=${seed})`, async () => {
    const random = createRandom(seed)
    const parts = ['word', 'a', ' ', ' ', '\n', '\n\n', '👍', '漢字', '\n```\n', 'x'.repeat(50), '. ', '']
    for (let round = 0; round < 3000; round++) {
      const text = Array.from(
        { length: 1 + Math.floor(random() * 60) },
        () => parts[Math.floor(random() * parts.length)],
      ).join('')
      const limit = 24 + Math.floor(random() * 100)
      const fault = faultOf(text, await splitIntoChunks(text, { maxText: limit }), limit)
      expect(fault && { fault, text, limit }).toBeUndefined()
    }
  })

  it('takes time in proportion to the length of the text', async () => {
    for (const text of [
      '```\n'.repeat(25_000),
      'x'.repeat(100_000),
      ' x'.repeat(50_000),
      `\`\`\`${'x\n'.repeat(50_000)}`,
    ])
      expect((await splitIntoChunks(text, { maxText: 100 })).length).toBeGreaterThan(100)
  })
})

it('keeps the paragraphs, lists and code of a text that is formatted in sections', async () => {
  const code = Array.from({ length: 900 }, (_, n) => `line_${n}();`)
  const paragraphs = Array.from({ length: 400 }, (_, n) => `Paragraph *${n}* with some words to fill it.`)
  const items = Array.from({ length: 900 }, (_, n) => `- item ${n}`)
  const text = [...paragraphs, '```js', ...code, '```', '', ...items].join('\n').replaceAll('fill it.', 'fill it.\n')
  const chunks = await split(text, { maxText: 4096, format: 'html' })
  const plainText = chunks.map(({ text: chunk }) => chunk.replaceAll(/<[^>]+>/g, '')).join('\n')
  for (const one of [...code, 'item 0', 'item 899', 'Paragraph 0 ', 'Paragraph 399 ']) expect(plainText).toContain(one)
  expect(plainText).not.toMatch(/```|\*/)
  const withCode = chunks.filter(({ text: chunk }) => chunk.includes('line_'))
  expect(withCode.filter(({ text: chunk }) => !chunk.includes('<pre>'))).toEqual([])
})
