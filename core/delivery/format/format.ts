// Converts the Markdown of agents into the format of a channel.
import type { ChannelLimits, TextMarks } from '../../plugin/plugin.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { markCodeBlocks } from './code-blocks.ts'
import { splitIntoSections } from './sections.ts'
import { html, plainStyle, ranges, type Style, styleOf } from './styles.ts'
import { bareText, plain, type Span, type StyledText } from './styled-text.ts'

type Format = NonNullable<ChannelLimits['format']>

const styles: Record<Exclude<Format, 'markdown' | TextMarks>, Style> = { html, plain: plainStyle, ranges }

/**
 * Deterministic, so that after a crash a delivery continues with the chunk at which it stopped. A text that cannot be
 * formatted stays as it is.
 */
export async function formatMarkdown(markdown: string, format: Format): Promise<StyledText> {
  const { spans, escape } =
    format === 'markdown'
      ? keepMarkdown(markdown)
      : await convert(markdown, typeof format === 'object' ? styleOf(format) : styles[format])
  return { spans: isAcceptable(spans, markdown) ? spans : plain(markdown), escape }
}

const keepMarkdown = (markdown: string): StyledText => ({ spans: markCodeBlocks(markdown), escape: (text) => text })

/** The parser is imported when the first text needs it, so that the start does not wait for it. */
async function convert(markdown: string, style: Style): Promise<StyledText> {
  const { renderMarkdown } = await import('./render.ts')
  try {
    const spans: Span[] = []
    for (const { markdown: section, before } of splitIntoSections(markdown)) {
      if (spans.length > 0) await nextTurn()
      const rendered = renderMarkdown(section, style)
      spans.push(...(spans.length > 0 && rendered.length > 0 ? plain(before) : []))
      for (const span of rendered) spans.push(span)
    }
    return { spans: style.finish(spans), escape: style.escape }
  } catch {
    return { spans: [], escape: style.escape }
  }
}

/** Indentation and padding may make a text longer, but not by more than this factor. */
const maxGrowth = 8

/** A text of invisible Markdown, such as link definitions, must not vanish. */
function isAcceptable(spans: readonly Span[], markdown: string): boolean {
  const text = bareText(spans)
  return text.trim() !== '' && text.length <= maxGrowth * markdown.length + 1000
}
