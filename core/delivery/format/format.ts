// Converts the Markdown of agents into the format of a channel.
import type { ChannelLimits } from '../../plugin.ts'
import { markCodeBlocks } from './code-blocks.ts'
import { html } from './html.ts'
import { plain, type Style } from './style.ts'
import type { StyledText } from './styled-text.ts'
import { whatsapp } from './whatsapp.ts'

type Format = NonNullable<ChannelLimits['format']>

const styles: Record<Exclude<Format, 'markdown'>, Style> = { html, whatsapp, plain }

/** Deterministic, so that after a crash a delivery continues with the chunk at which it stopped. */
export async function formatMarkdown(markdown: string, format: Format): Promise<StyledText> {
  const { spans, escape } = format === 'markdown' ? keepMarkdown(markdown) : await convert(markdown, format)
  // A text of invisible Markdown, such as link definitions, must not vanish.
  const isBlank = spans.every(({ text }) => text.trim() === '')
  return { spans: isBlank ? [{ text: markdown, marks: [] }] : spans, escape }
}

const keepMarkdown = (markdown: string): StyledText => ({ spans: markCodeBlocks(markdown), escape: (text) => text })

/** The parser is imported when the first text needs it, so that the start does not wait for it. */
async function convert(markdown: string, format: Exclude<Format, 'markdown'>): Promise<StyledText> {
  const { renderMarkdown } = await import('./render.ts')
  const style = styles[format]
  return { spans: style.finish(renderMarkdown(markdown, style)), escape: style.escape }
}
