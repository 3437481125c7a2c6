// Renders blocks of Markdown (paragraphs, lists, quotes, code, tables) as text with the marks of a style.
import { type Context, plain, type Renderers, renderWith } from './context.ts'
import { renderInline } from './inline.ts'
import { type MarkedToken, parseMarkdown, type Token, type Tokens } from './parse.ts'
import { bareText, joinSpans, prefixLines, type Span, wrap } from './styled-text.ts'
import type { Style } from './style.ts'

export const renderMarkdown = (markdown: string, style: Style): Span[] =>
  joinBlocks(parseMarkdown(markdown), { style, depth: 0, isQuoted: false })

const blocks: Renderers = {
  space: () => [],
  def: () => [],
  // The list writes the box of a task.
  checkbox: () => [],
  heading: ({ tokens }, context) => wrap(renderInline(tokens, context), context.style.bold),
  paragraph: ({ tokens }, context) => renderInline(tokens, context),
  code: ({ text }, { style }) => wrap(plain(text), style.block),
  blockquote: renderQuote,
  list: renderList,
  table: (token, context) => wrap(plain(renderTable(token, context)), context.style.block),
  hr: () => plain('———'),
  html: ({ raw }) => plain(raw.trim()),
  text: (token, context) => renderInline([token], context),
}

/** Renders blocks, one below the other. */
function joinBlocks(tokens: readonly Token[], context: Context, between = '\n\n'): Span[] {
  const rendered = tokens
    .map((token) => renderWith(blocks, token as MarkedToken, context))
    .filter((spans) => bareText(spans) !== '')
  return joinSpans(rendered, between)
}

/** A quote inside a quote is not marked again, because platforms do not allow it. */
function renderQuote({ tokens }: Tokens.Blockquote, context: Context): Span[] {
  const spans = joinBlocks(tokens, { ...context, isQuoted: true })
  if (!context.style.quote) return prefixLines(spans, '> ', '> ')
  return context.isQuoted ? spans : wrap(spans, context.style.quote)
}

function renderList({ ordered, start, items }: Tokens.List, context: Context): Span[] {
  const rendered = items.map(({ task, checked, tokens }, index) => {
    const bullet = ordered ? `${(start || 1) + index}. ` : '• '
    const box = task ? (checked ? '☑ ' : '☐ ') : ''
    return prefixLines(joinBlocks(tokens, context, '\n'), bullet + box, ' '.repeat(bullet.length))
  })
  return joinSpans(rendered, '\n')
}

function renderTable({ header, align, rows }: Tokens.Table, context: Context): string {
  const cells = [header, ...rows].map((row) =>
    row.map(({ tokens }) => bareText(renderInline(tokens, context)).replaceAll('\n', ' ')),
  )
  const widths = header.map((_, column) => Math.max(...cells.map((row) => lengthOf(row[column] ?? ''))))
  const [head = '', ...body] = cells.map((row) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, align[column]))
      .join('  ')
      .trimEnd(),
  )
  return [head, widths.map((width) => '-'.repeat(width)).join('  '), ...body].join('\n')
}

const lengthOf = (text: string): number => [...text].length

function pad(cell: string, width: number, align: string | null | undefined): string {
  const space = ' '.repeat(width - lengthOf(cell))
  return align === 'right' ? space + cell : cell + space
}
