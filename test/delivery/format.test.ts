// The Markdown of agents in the format of a channel: what each mark becomes, and that nothing of it can do harm.
import { describe, expect, it } from 'vitest'
import whatsappChannel from '../../channels/whatsapp/index.ts'
import { splitIntoChunks as split } from '../../core/delivery/format/chunks.ts'
import type { ChannelLimits } from '../../core/plugin/plugin.ts'
import { createRandom, seed } from '../config/random.ts'

const splitIntoChunks = async (...args: Parameters<typeof split>): Promise<string[]> =>
  (await split(...args)).map(({ text }) => text)

type Format = NonNullable<ChannelLimits['format']>

const marks = whatsappChannel.limits.format as Format

const render = async (markdown: string, format: Format) =>
  (await splitIntoChunks(markdown, { maxText: 100_000, format })).join('')

/** Markdown, and what it is as HTML, for WhatsApp and as plain text. */
const samples: [name: string, markdown: string, html: string, whatsapp: string, plain: string][] = [
  ['a plain text', 'Hello.', 'Hello.', 'Hello.', 'Hello.'],
  ['characters of HTML', 'a < b & c > "d"', 'a &lt; b &amp; c &gt; "d"', 'a < b & c > "d"', 'a < b & c > "d"'],
  ['entities', 'a &lt; b &amp; c', 'a &lt; b &amp; c', 'a < b & c', 'a < b & c'],
  ['escaped marks', String.raw`\*not bold\*`, '*not bold*', '*not bold*', '*not bold*'],
  [
    'emphasis',
    '**bold** *italic* ~~gone~~',
    '<b>bold</b> <i>italic</i> <s>gone</s>',
    '*bold* _italic_ ~gone~',
    'bold italic gone',
  ],
  ['nested emphasis', '**a *b***', '<b>a <i>b</i></b>', '*a _b_*', 'a b'],
  ['emphasis of two lines', '**one\ntwo**', '<b>one\ntwo</b>', '*one*\n*two*', 'one\ntwo'],
  ['code', '`a < b`', '<code>a &lt; b</code>', '`a < b`', 'a < b'],
  ['a heading', '## Title\nText', '<b>Title</b>\n\nText', '*Title*\n\nText', 'Title\n\nText'],
  [
    'a code block',
    '```js\nif (a < b) {\n  c()\n}\n```',
    '<pre>if (a &lt; b) {\n  c()\n}</pre>',
    '```\nif (a < b) {\n  c()\n}\n```',
    'if (a < b) {\n  c()\n}',
  ],
  ['a quote', '> one\n> two', '<blockquote>one\ntwo</blockquote>', '> one\n> two', '> one\n> two'],
  ['a quote in a quote', '> a\n>> b', '<blockquote>a\n\nb</blockquote>', '> a\n> \n> > b', '> a\n> \n> > b'],
  ['a list', '- one\n- two\n  more', '• one\n• two\n  more', '• one\n• two\n  more', '• one\n• two\n  more'],
  ['a numbered list', '3. one\n4. two', '3. one\n4. two', '3. one\n4. two', '3. one\n4. two'],
  ['a list in a list', '- a\n  1. b\n  2. c', '• a\n  1. b\n  2. c', '• a\n  1. b\n  2. c', '• a\n  1. b\n  2. c'],
  ['tasks', '- [x] a\n- [ ] b', '• ☑ a\n• ☐ b', '• ☑ a\n• ☐ b', '• ☑ a\n• ☐ b'],
  [
    'a table',
    '|Name|Age|\n|-|-:|\n|**Ann**|7|\n|Bob|42|',
    '<pre>Name  Age\n----  ---\nAnn     7\nBob    42</pre>',
    '```\nName  Age\n----  ---\nAnn     7\nBob    42\n```',
    'Name  Age\n----  ---\nAnn     7\nBob    42',
  ],
  ['a line', 'a\n\n---\n\nb', 'a\n\n———\n\nb', 'a\n\n———\n\nb', 'a\n\n———\n\nb'],
  [
    'a link',
    '[the docs](https://a.example/?b=1&c="2")',
    '<a href="https://a.example/?b=1&amp;c=&quot;2&quot;">the docs</a>',
    'the docs (https://a.example/?b=1&c="2")',
    'the docs (https://a.example/?b=1&c="2")',
  ],
  [
    'an address',
    'https://a.example',
    '<a href="https://a.example">https://a.example</a>',
    'https://a.example',
    'https://a.example',
  ],
  ['a mail address', '<a@b.example>', '<a href="mailto:a@b.example">a@b.example</a>', 'a@b.example', 'a@b.example'],
  [
    'an image',
    '![A cat](https://a.example/cat.png)',
    '<a href="https://a.example/cat.png">A cat</a>',
    'A cat (https://a.example/cat.png)',
    'A cat (https://a.example/cat.png)',
  ],
  ['HTML', 'a <b>c</b>', 'a &lt;b&gt;c&lt;/b&gt;', 'a <b>c</b>', 'a <b>c</b>'],
  ['a block of HTML', '<div>x</div>', '&lt;div&gt;x&lt;/div&gt;', '<div>x</div>', '<div>x</div>'],
  ['only a link definition', '[a]: b', '[a]: b', '[a]: b', '[a]: b'],
]

/** Samples that Markdown would let a client fetch, or that could be a block of HTML. */
const withoutFetches: Readonly<Record<string, string>> = {
  '![A cat](https://a.example/cat.png)': '[A cat](https://a.example/cat.png)',
  '<div>x</div>': '< div>x</div>',
}

/** Marks between punctuation and a letter, where CommonMark shows the asterisks. */
const besideChinese: [markdown: string, html: string][] = [
  ['**「注意」**です', '<b>「注意」</b>です'],
  ['これは**重要。**次', 'これは<b>重要。</b>次'],
  ['文**（括弧）**文', '文<b>（括弧）</b>文'],
  ['这是**“重点”**吗', '这是<b>“重点”</b>吗'],
  ['他说：**“好。”**她走了', '他说：<b>“好。”</b>她走了'],
  ['**"주의"**는 **예(例)**로', '<b>"주의"</b>는 <b>예(例)</b>로'],
  ['設定は**`a.json`**に', '設定は<b><code>a.json</code></b>に'],
  ['𠮷**「注」**𠮷', '𠮷<b>「注」</b>𠮷'],
  ['*「注」*と~~「注」~~と***「注」***と', '<i>「注」</i>と<s>「注」</s>と<i><b>「注」</b></i>と'],
  // What is not emphasis in English is none here.
  ['漢字 ** 漢字 ** 漢字', '漢字 ** 漢字 ** 漢字'],
  ['名_「前」_名', '名_「前」_名'],
  ['a**"b"**c', 'a**"b"**c'],
]

describe('the format of a channel', () => {
  it.each(besideChinese)('renders %s', async (markdown, html) => {
    const ofWhatsApp: Readonly<Record<string, string>> = { b: '*', i: '_', s: '~', code: '`' }
    const withTags = (change: (name: string) => string) =>
      html.replaceAll(/<\/?(b|i|s|code)>/g, (_tag, name: string) => change(name))
    expect(await render(markdown, 'html')).toBe(html)
    expect(await render(markdown, marks)).toBe(withTags((name) => ofWhatsApp[name] as string))
    expect(await render(markdown, 'plain')).toBe(withTags(() => ''))
    expect(await render(markdown, 'ranges')).toBe(withTags(() => ''))
    expect(await render(markdown, 'markdown')).toBe(markdown)
  })

  it.each(samples)('renders %s', async (...[, markdown, html, whatsapp, plain]) => {
    expect(await render(markdown, 'markdown')).toBe(withoutFetches[markdown] ?? markdown)
    expect(await render(markdown, 'html')).toBe(html)
    expect(await render(markdown, marks)).toBe(whatsapp)
    expect(await render(markdown, 'plain')).toBe(plain)
  })

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    ' JavaScript:alert(1)',
    'a.md',
    `https://${'x'.repeat(600)}`,
  ])('makes no link of %s, but writes the address', async (address) => {
    const html = await render(`[text](<${address}>)`, 'html')
    expect(html).not.toContain('href')
    expect(html).toContain(address.trim())
  })

  it.each([
    ['quotes', `${'>'.repeat(10_000)} x`],
    ['lists', Array.from({ length: 400 }, (_, depth) => `${' '.repeat(depth * 2)}- x`).join('\n')],
    ['emphasis', `${'*_'.repeat(5000)}x${'_*'.repeat(5000)}`],
    ['emphasis below the limit', `${'*_'.repeat(400)}x${'_*'.repeat(400)}`],
    ['marks', '*a**b '.repeat(10_000)],
    ['stars', `${'*'.repeat(50_000)}x${'*'.repeat(50_000)}`],
    ['brackets', '[a]('.repeat(10_000)],
    ['tags', '<a '.repeat(30_000)],
    ['code', '`'.repeat(50_000)],
    ['one character of many code points', `a${'\u0301'.repeat(50_000)}`],
  ])('survives hostile %s', async (_name, markdown) => {
    for (const format of ['html', marks, 'plain', 'markdown'] as const) {
      const chunks = await splitIntoChunks(markdown, { maxText: 4096, format })
      expect(chunks.length).toBeGreaterThan(0)
      expect(chunks.every((chunk) => chunk.length <= 4096)).toBe(true)
    }
  })
})

const parts = [
  'word',
  'a',
  ' ',
  '\n',
  '\n\n',
  '👍',
  '👨‍👩‍👧',
  '漢字',
  '& < >',
  '**',
  '*',
  '`',
  '~~',
  '_',
  '> ',
  '- ',
  '1. ',
  '# ',
  '[x](https://a.b)',
  '\n```\n',
  '\n~~~~js\n',
  '|a|b|\n|-|-|\n',
  'x'.repeat(90),
  '<b>',
  '</b>',
  String.raw`\*`,
  'é',
  '    ',
]

const allowed = /<(?:\/(?:b|i|s|code|pre|a|blockquote)|b|i|s|code|pre|blockquote|a href="[^"<>]*")>/g

/** What is wrong with a chunk of HTML. */
function faultOfHtml(chunk: string): string | undefined {
  const open: string[] = []
  for (const [tag] of chunk.matchAll(allowed)) {
    const name = /\w+/.exec(tag)?.[0] as string
    if (!tag.startsWith('</')) open.push(name)
    else if (open.pop() !== name) return 'tags are not nested'
  }
  if (open.length > 0) return 'a tag is open'
  const rest = chunk.replaceAll(allowed, '')
  if (/[<>]/.test(rest)) return 'an unknown tag'
  return /&(?!(?:amp|lt|gt|quot);)/.test(rest) ? 'an unescaped ampersand' : undefined
}

const sizeOf = {
  utf16: (text: string) => text.length,
  codepoints: (text: string) => [...text].length,
  bytes: (text: string) => Buffer.byteLength(text),
}

/** The visible characters of HTML. */
const visible = (html: string) => html.replaceAll(allowed, '').replaceAll(/\s/g, '')

describe('the format ranges', () => {
  /** The parts that a chunk shows in a style. */
  const shown = async (markdown: string, maxText = 1000) =>
    (await split(markdown, { maxText, format: 'ranges' })).map(({ text, ranges = [] }) =>
      [text].concat(ranges.map(({ style, start, length }) => `${style}: ${text.slice(start, start + length)}`)),
    )

  it('has the text without marks, and the parts with a style', async () => {
    expect(await shown('# 👍 Title\n\n**two words** and *one*, ~~gone~~ `a < b` [x](https://a.example)')).toEqual([
      [
        '👍 Title\n\ntwo words and one, gone a < b x (https://a.example)',
        'bold: 👍 Title',
        'bold: two words',
        'italic: one',
        'strike: gone',
        'code: a < b',
      ],
    ])
    expect(await shown('**a _b_**\n\n```js\nif (a) {\n  b()\n}\n```')).toEqual([
      ['a b\n\nif (a) {\n  b()\n}', 'bold: a b', 'italic: b', 'code: if (a) {\n  b()\n}'],
    ])
    expect(await split('no style', { maxText: 100, format: 'ranges' })).toEqual([{ text: 'no style' }])
  })

  it('repeats a style that a cut divides', async () => {
    expect(await shown('**one two three four**', 10)).toEqual([
      ['one two', 'bold: one two'],
      ['three four', 'bold: three four'],
    ])
  })
})

describe('chunks of a format', () => {
  const random = createRandom(seed)
  const pick = <Item>(list: readonly Item[]) => list[Math.floor(random() * list.length)] as Item
  const write = () => Array.from({ length: 1 + Math.floor(random() * 50) }, () => pick(parts)).join('')

  it(`fit, are well-formed, and lose nothing (SEED=${seed})`, async () => {
    for (let round = 0; round < 600; round++) {
      const text = write()
      const format = pick(['html', marks, 'plain', 'markdown'] as const)
      const unit = pick(['utf16', 'codepoints', 'bytes'] as const)
      const maxText = 60 + Math.floor(random() * 200)
      const chunks = await splitIntoChunks(text, { maxText, unit, format })
      const whole = await render(text, format)
      const fault = [
        chunks.some((chunk) => sizeOf[unit](chunk) > maxText) && 'a chunk is too long',
        chunks.some((chunk) => !chunk.trim()) && 'a chunk is blank',
        chunks.some((chunk) => !chunk.isWellFormed()) && 'a surrogate pair is split',
        chunks.some((chunk) => chunk.startsWith('\u200d') || chunk.endsWith('\u200d')) && 'a grapheme is split',
        format === 'html' && chunks.map(faultOfHtml).find(Boolean),
        format === 'html' && visible(chunks.join('')) !== visible(whole) && 'something was lost',
        format === 'plain' && visible(chunks.join('')) !== visible(whole) && 'something was lost',
      ].find(Boolean)
      expect(fault && { fault, text, format, unit, maxText, chunks }).toBeFalsy()
    }
  })

  it('hold a character of several code points whole', async () => {
    const limits = { maxText: 8, format: marks }
    expect(await splitIntoChunks('**ab**👨‍👩‍👧', limits)).toEqual(['*ab*', '👨‍👩‍👧'])
  })

  it('are not sent if they would hold only indentation', async () => {
    const limits = { maxText: 24, format: 'html' } as const
    expect(await splitIntoChunks(`\`\`\`\n${' '.repeat(30)}x\n\`\`\``, limits)).toEqual(['<pre>x</pre>'])
  })

  it('are the same each time', async () => {
    const text = Array.from({ length: 20 }, write).join('\n\n')
    const limits = { maxText: 200, format: 'html' } as const
    expect(await splitIntoChunks(text, limits)).toEqual(await splitIntoChunks(text, limits))
  })

  it('repeat the marks that a cut divides', async () => {
    expect(await splitIntoChunks('**one two three *four***', { maxText: 28, format: 'html' })).toEqual([
      '<b>one two three</b>',
      '<b><i>four</i></b>',
    ])
    expect(await splitIntoChunks('```\n  alpha\n  beta\n```', { maxText: 24, format: 'html' })).toEqual([
      '<pre>  alpha</pre>',
      '<pre>  beta</pre>',
    ])
  })

  it.each(['utf16', 'codepoints', 'bytes'] as const)(
    'keep characters of several code points whole in %s',
    async (unit) => {
      const family = '👨‍👩‍👧'
      const chunks = await splitIntoChunks(family.repeat(10), { maxText: 20, unit })
      expect(chunks.every((chunk) => chunk.replaceAll(family, '') === '')).toBe(true)
      expect(chunks.join('')).toBe(family.repeat(10))
    },
  )

  it('are measured after escaping', async () => {
    expect(await splitIntoChunks('&&&&&&', { maxText: 10, format: 'html' })).toEqual([
      '&amp;&amp;',
      '&amp;&amp;',
      '&amp;&amp;',
    ])
  })
})
