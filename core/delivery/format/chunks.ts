// Splits a reply into chunks that fit a channel: at paragraphs, lines or words, and inside a word only if it is too
// long. Marks that a cut divides, such as a code block, are closed and opened again.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChannelLimits, TextRange } from '../../plugin/plugin.ts'
import { formatMarkdown } from './format.ts'
import { changeMarks, type Mark, type StyledText } from './styled-text.ts'
import { withoutFetches } from './pictures.ts'
import { findCut, longestText, type Token } from './find-cut.ts'

type Limits = Pick<ChannelLimits, 'maxText' | 'unit' | 'format'>

export interface TextChunk {
  text: string
  /** If the format has them, and the chunk does. */
  ranges?: readonly TextRange[]
}

/** Deterministic, so that after a crash a delivery continues with the chunk at which it stopped. */
export async function splitIntoChunks(markdown: string, limits: Limits): Promise<TextChunk[]> {
  const { maxText, unit = 'utf16', format = 'markdown' } = limits
  const text = format === 'markdown' ? withoutFetches(markdown.trim()) : markdown.trim()
  const sizeOf = sizes[unit]
  if (format === 'markdown' && sizeOf(text) <= maxText) return text ? [{ text }] : []
  return await splitStyledText(await formatMarkdown(text, format), { limit: maxText, sizeOf })
}

interface Measure {
  limit: number
  sizeOf(text: string): number
}

const sizes: Record<NonNullable<Limits['unit']>, Measure['sizeOf']> = {
  utf16: (text) => text.length,
  codepoints: (text) => text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0),
  bytes: (text) => Buffer.byteLength(text),
}

async function splitStyledText({ spans, escape }: StyledText, { limit, sizeOf }: Measure): Promise<TextChunk[]> {
  const tokens = spans.flatMap(({ text, marks }) => {
    const fitting = fitMarks(marks, { limit, sizeOf })
    return (text.match(/\n|[^\S\n]+|\S+/g) ?? []).map((part) => ({ text: part, marks: fitting, kind: kindOf(part) }))
  })
  // A word of any length is quick to measure.
  const sizeOfText = (text: string) => (text.length > longestText(limit) ? Infinity : sizeOf(escape(text)))
  const meter = { limit, sizeOf: sizeOfText, sizeOfMarks: sizeOf }
  const chunks: TextChunk[] = []
  let start = skipWhitespace(tokens, 0)
  while (start < tokens.length) {
    // A model may write a long text that is slow to format. Requests are answered meanwhile.
    if (start > 0) await nextTurn()
    const { end, head } = findCut(tokens, start, meter)
    const chunk = tokens.slice(start, end)
    const word = tokens[end]
    if (head !== undefined && word) {
      chunk.push({ ...word, text: head })
      tokens[end] = { ...word, text: word.text.slice(head.length) }
    }
    const written = writeTokens(chunk, escape)
    // A chunk of nothing but indentation is not sent.
    if (written.text) chunks.push(written)
    start = skipWhitespace(tokens, end)
  }
  return chunks
}

const kindOf = (text: string): Token['kind'] => (text === '\n' ? 'line' : text.trim() === '' ? 'space' : 'word')

/** Marks may take up to half of a message. Those that do not fit are left out. */
function fitMarks(marks: readonly Mark[], { limit, sizeOf }: Measure): readonly Mark[] {
  let left = limit / 2
  const fits = (mark: Mark | undefined): boolean => mark !== undefined && sizeOf(mark.open + mark.close) <= left
  return marks.flatMap((mark) => {
    const chosen = [mark, mark.short].find(fits)
    if (!chosen) return []
    left -= sizeOf(chosen.open + chosen.close)
    return [chosen]
  })
}

/** Whitespace at a cut is left out, except the indentation of code. */
function skipWhitespace(tokens: readonly Token[], from: number): number {
  let at = from
  while (at < tokens.length && tokens[at]?.kind !== 'word' && !isIndentation(tokens, at)) at++
  return at
}

const isIndentation = (tokens: readonly Token[], at: number): boolean =>
  tokens[at]?.kind === 'space' &&
  tokens[at - 1]?.kind !== 'word' &&
  tokens[at + 1]?.kind === 'word' &&
  (tokens[at]?.marks.some(({ isBlock }) => isBlock) ?? false)

/** Writes tokens with their marks, without the whitespace at the end. */
function writeTokens(tokens: readonly Token[], escape: StyledText['escape']): TextChunk {
  let text = ''
  let open: readonly Mark[] = []
  const ranges = createRanges()
  for (const token of tokens.slice(0, tokens.findLastIndex(({ kind }) => kind === 'word') + 1)) {
    text += changeMarks(open, token.marks)
    const start = text.length
    text += escape(token.text)
    ranges.add(token.marks, { start, end: text.length })
    open = token.marks
  }
  text += changeMarks(open, [])
  const list = ranges.list()
  return list.length > 0 ? { text, ranges: list } : { text }
}

/** Collects the ranges of a chunk. A mark that goes on in the next token extends its range. */
function createRanges() {
  const found: { style: TextRange['style']; start: number; end: number }[] = []
  const latest = new Map<Mark, (typeof found)[number]>()
  return {
    add(marks: readonly Mark[], { start, end }: { start: number; end: number }): void {
      for (const mark of marks) {
        if (!mark.range) continue
        const range = latest.get(mark)
        if (range?.end === start) range.end = end
        else {
          const begun = { style: mark.range, start, end }
          found.push(begun)
          latest.set(mark, begun)
        }
      }
    },
    list: (): TextRange[] => found.map(({ style, start, end }) => ({ style, start, length: end - start })),
  }
}
