// Renders what is inside a block of Markdown: emphasis, code, links, images.
import { type Context, plain, type Renderers, renderWith } from './context.ts'
import type { MarkedToken, Token, Tokens } from './parse.ts'
import { bareText, type Span, wrap } from './styled-text.ts'

export const renderInline = (tokens: readonly Token[], context: Context): Span[] =>
  tokens.flatMap((token) => renderWith(inline, token as MarkedToken, context))

const inline: Renderers = {
  strong: ({ tokens }, context) => wrap(renderInline(tokens, context), context.style.bold),
  em: ({ tokens }, context) => wrap(renderInline(tokens, context), context.style.italic),
  del: ({ tokens }, context) => wrap(renderInline(tokens, context), context.style.strike),
  codespan: ({ text }, { style }) => wrap(plain(text), style.code),
  link: ({ href, tokens }, context) => renderLink(href, renderInline(tokens, context), context),
  image: ({ href, text }, context) => renderLink(href, plain(text || 'image'), context),
  br: () => plain('\n'),
  // The list writes the box of a task.
  checkbox: () => [],
  escape: ({ text }) => plain(text),
  text: (token, context) => (token.tokens ? renderInline(token.tokens, context) : plain(decodeEntities(token))),
}

/** Where a link cannot be clicked, its address follows its text. */
function renderLink(href: string, spans: Span[], { style }: Context): Span[] {
  const address = href.trim()
  const mark = style.link(address)
  if (mark) return wrap(spans, mark)
  const text = bareText(spans).trim()
  return text === address || `mailto:${text}` === address || !address ? spans : [...spans, ...plain(` (${address})`)]
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: '\u00A0' }

/** Only the entities that agents write. Others stay as they are. */
const decodeEntities = ({ text }: Tokens.Text): string =>
  text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name] as string)
