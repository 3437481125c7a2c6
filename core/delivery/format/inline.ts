// Renders what is inside a block of Markdown: emphasis, code, links, images.
import type { Node } from './parse.ts'
import { bareText, plain, type Span, wrap } from './styled-text.ts'
import type { Style } from './styles.ts'

export function renderInline(nodes: readonly Node[], style: Style): Span[] {
  const spans: Span[] = []
  for (const span of nodes.flatMap((node) => renderNode(node, style))) {
    const last = spans.at(-1)
    // A paragraph of many lines becomes one span, so that each list and quote around it changes one text.
    if (last?.marks.length === 0 && span.marks.length === 0) last.text += span.text
    else spans.push({ ...span })
  }
  return spans
}

function renderNode({ type, token, children }: Node, style: Style): Span[] {
  switch (type) {
    case 'strong':
      return wrap(renderInline(children, style), style.bold)
    case 'em':
      return wrap(renderInline(children, style), style.italic)
    case 's':
      return wrap(renderInline(children, style), style.strike)
    case 'code_inline':
      return wrap(plain(token.content), style.code)
    case 'link':
      return renderLink(String(token.attrGet('href') ?? ''), renderInline(children, style), style)
    case 'image':
      return renderLink(String(token.attrGet('src') ?? ''), renderImageText(children, style), style)
    case 'softbreak':
    case 'hardbreak':
      return plain('\n')
    default:
      return plain(token.content)
  }
}

const renderImageText = (children: readonly Node[], style: Style): Span[] =>
  plain(bareText(renderInline(children, style)) || 'image')

/** Where a link cannot be clicked, its address follows its text. */
function renderLink(href: string, spans: Span[], style: Style): Span[] {
  const address = href.trim()
  const mark = style.link(address)
  if (mark) return wrap(spans, mark)
  const text = bareText(spans).trim()
  return text === address || `mailto:${text}` === address || !address ? spans : [...spans, ...plain(` (${address})`)]
}
