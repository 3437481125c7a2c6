// Draws lines of a terminal, with their colours, as an SVG that is readable on light and dark pages, and reads the
// lines back from it.

const columns = 108
const size = { character: 7.8, row: 19, margin: 18 }

/** A part of a row in one colour. `code` is that of ANSI: 32 is green. */
interface Span {
  text: string
  code: string
}

const palette: Record<string, readonly [light: string, dark: string]> = {
  text: ['#1f2328', '#e6edf3'],
  back: ['#f6f8fa', '#0d1117'],
  c32: ['#1a7f37', '#3fb950'],
  c36: ['#0b6b74', '#39c5cf'],
  c90: ['#59636e', '#9198a1'],
}

export function renderPicture(lines: readonly string[], title: string): string {
  const rows = lines.flatMap((line) => wrap(readSpans(line)).map((spans, index) => ({ spans, isFirst: index === 0 })))
  const width = Math.ceil(columns * size.character + 2 * size.margin)
  const height = rows.length * size.row + 2 * size.margin
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" aria-label="${escape(title)}">`,
    `<style>${styles(0)}@media (prefers-color-scheme: dark){${styles(1)}}`,
    `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}</style>`,
    `<rect class="back" width="${width}" height="${height}" rx="8"/>`,
    ...rows.map(({ spans, isFirst }, index) => renderRow(spans, { isFirst, index })),
    '</svg>\n',
  ].join('\n')
}

/** The lines of a picture, without colours. */
export function readPicture(svg: string): string[] {
  const lines: string[] = []
  for (const [, kind, content = ''] of svg.matchAll(/<text class="text( more)?"[^>]*>(.*)<\/text>/g)) {
    const text = unescape(content.replaceAll(/<[^>]+>/g, ''))
    if (kind) lines.push(`${lines.pop() ?? ''}${text}`)
    else lines.push(text)
  }
  return lines
}

const styles = (scheme: 0 | 1): string =>
  Object.entries(palette)
    .map(([name, colors]) => `.${name}{fill:${colors[scheme]}}`)
    .join('')

function readSpans(line: string): Span[] {
  let code = ''
  return line.split('\u001B[').flatMap((part, index) => {
    const [, codes, text = ''] = (index > 0 && /^([\d;]*)m(.*)$/.exec(part)) || ['', undefined, part]
    if (codes !== undefined) code = codes
    return text === '' ? [] : [{ text, code }]
  })
}

function wrap(spans: readonly Span[]): Span[][] {
  const characters = spans.flatMap(({ text, code }) => Array.from(text, (character) => ({ character, code })))
  const count = Math.max(1, Math.ceil(characters.length / columns))
  return Array.from({ length: count }, (_, row) =>
    characters.slice(row * columns, (row + 1) * columns).reduce<Span[]>((joined, { character, code }) => {
      const last = joined.at(-1)
      if (last?.code === code) last.text += character
      else joined.push({ text: character, code })
      return joined
    }, []),
  )
}

/** The length makes rows equally wide with every font. */
function renderRow(spans: readonly Span[], { isFirst, index }: { isFirst: boolean; index: number }): string {
  const length = spans.reduce((sum, { text }) => sum + text.length, 0)
  const place = `x="${size.margin}" y="${size.margin + index * size.row + 14}"`
  const width = length > 0 ? ` textLength="${(length * size.character).toFixed(1)}"` : ''
  const content = spans.map(({ text, code }) =>
    `c${code}` in palette ? `<tspan class="c${code}">${escape(text)}</tspan>` : escape(text),
  )
  return `<text class="text${isFirst ? '' : ' more'}" ${place}${width}>${content.join('')}</text>`
}

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const unescape = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&gt;', '>').replaceAll('&lt;', '<').replaceAll('&amp;', '&')
