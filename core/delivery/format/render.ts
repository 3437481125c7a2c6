// Renders blocks of Markdown (paragraphs, lists, quotes, code, tables) as text with the marks of a style.
import { renderInline } from './inline.ts'
import { type Node, parseMarkdown } from './parse.ts'
import { bareText, joinSpans, plain, prefixLines, type Span, wrap } from './styled-text.ts'
import type { Style } from './styles.ts'

interface Context {
  style: Style
  isQuoted: boolean
}

export const renderMarkdown = (markdown: string, style: Style): Span[] =>
  joinBlocks(parseMarkdown(markdown), { style, isQuoted: false })

/** Renders blocks, one below the other. */
function joinBlocks(nodes: readonly Node[], context: Context, between = '\n\n'): Span[] {
  const rendered = nodes.map((node) => renderBlock(node, context)).filter((spans) => bareText(spans) !== '')
  return joinSpans(rendered, between)
}

function renderBlock(node: Node, context: Context): Span[] {
  const { type, token, children } = node
  const { style } = context
  switch (type) {
    case 'heading':
      return wrap(renderInline(children, style), style.bold)
    case 'fence':
    case 'code_block':
      return wrap(plain(token.content.replace(/\n$/, '')), style.block)
    case 'blockquote':
      return renderQuote(children, context)
    case 'bullet_list':
    case 'ordered_list':
      return renderList(node, context)
    case 'table':
      return wrap(plain(renderTable(node, style)), style.block)
    case 'hr':
      return plain('———')
    default:
      return renderInline(children, style)
  }
}

/** A quote inside a quote is not marked again, because platforms do not allow it. */
function renderQuote(children: readonly Node[], context: Context): Span[] {
  const spans = joinBlocks(children, { ...context, isQuoted: true })
  if (!context.style.quote) return prefixLines(spans, '> ', '> ')
  return context.isQuoted ? spans : wrap(spans, context.style.quote)
}

function renderList({ type, token, children: items }: Node, context: Context): Span[] {
  const start = Number(token.attrGet('start') ?? 1)
  const rendered = items.map(({ children }, index) => {
    const bullet = type === 'ordered_list' ? `${start + index}. ` : '• '
    return prefixLines(markTask(joinBlocks(children, context, '\n')), bullet, ' '.repeat(bullet.length))
  })
  return joinSpans(rendered, '\n')
}

/** Writes the box of a task. */
function markTask(spans: Span[]): Span[] {
  const [first, ...rest] = spans
  const [box] = /^\[[ xX]\] /.exec(first?.text ?? '') ?? []
  if (!first || box === undefined) return spans
  return [...plain(box === '[ ] ' ? '☐ ' : '☑ '), { ...first, text: first.text.slice(box.length) }, ...rest]
}

/** A column is not made wider than this for the sake of one long cell. */
const widestColumn = 60

function renderTable({ children: sections }: Node, style: Style): string {
  const rows = sections.flatMap(({ children }) => children).map(({ children: cells }) => cells)
  const texts = rows.map((cells) =>
    cells.map((cell) => bareText(renderInline(cell.children, style)).replaceAll('\n', ' ')),
  )
  const header = rows[0] ?? []
  const widths = header.map((_, column) =>
    texts.reduce((width, row) => Math.max(width, Math.min(lengthOf(row[column] ?? ''), widestColumn)), 0),
  )
  const isRight = header.map(({ token }) => token.attrGet('style') === 'text-align:right')
  const [head = '', ...body] = texts.map((row) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, isRight[column]))
      .join('  ')
      .trimEnd(),
  )
  return [head, widths.map((width) => '-'.repeat(width)).join('  '), ...body].join('\n')
}

const lengthOf = (text: string): number => [...text].length

function pad(cell: string, width: number, isRight: boolean | undefined): string {
  const space = ' '.repeat(Math.max(0, width - lengthOf(cell)))
  return isRight ? space + cell : cell + space
}
