// Text with marks around parts of it, such as bold or a code block. It can be cut anywhere: each chunk is written with
// its own opening and closing marks.

import type { TextRange } from '../../plugin/plugin.ts'

/** What is written before and after the marked text. Two marks are the same only if they are one object. */
export interface Mark {
  open: string
  close: string
  /** For a format that has ranges instead of marks in the text. */
  range?: TextRange['style']
  /** A code block, whose indentation matters. */
  isBlock?: boolean
  /** Written instead if `open` is too long for a message. */
  short?: Mark
}

export interface Span {
  text: string
  /** From the outermost to the innermost. */
  marks: readonly Mark[]
}

export interface StyledText {
  spans: readonly Span[]
  /** Escapes what is not a mark. */
  escape(text: string): string
}

export const plain = (text: string): Span[] => [{ text, marks: [] }]

/** Puts a mark around all spans. */
export const wrap = (spans: readonly Span[], mark: Mark | undefined): Span[] =>
  spans.map(({ text, marks }) => ({ text, marks: mark ? [mark, ...marks.filter((inner) => inner !== mark)] : marks }))

/** Writes `first` before the text, and `rest` before each further line. */
export function prefixLines(spans: readonly Span[], first: string, rest: string): Span[] {
  // A block begins in a line of its own, so indentation would move its lines against the first one.
  const isKept = (marks: readonly Mark[]) => rest.trim() === '' && marks.some(({ isBlock, open }) => isBlock && open)
  const lines = spans.map((span) =>
    isKept(span.marks) ? span : { ...span, text: span.text.replaceAll('\n', `\n${rest}`) },
  )
  return [{ text: first, marks: [] }, ...lines]
}

export function joinSpans(blocks: readonly (readonly Span[])[], between: string): Span[] {
  const gap: Span = { text: between, marks: [] }
  return blocks.flatMap((spans, index) => (index === 0 ? spans : [gap].concat(spans)))
}

/** The text without marks. */
export const bareText = (spans: readonly Span[]): string => spans.map(({ text }) => text).join('')

/** Ends the marks before each line break and begins them again after it, except those of code blocks. */
export const endMarksAtLines = (spans: readonly Span[]): Span[] =>
  spans.flatMap(({ text, marks }) =>
    marks.some(({ isBlock }) => isBlock)
      ? [{ text, marks }]
      : text.split(/(\n)/).map((part) => ({ text: part, marks: part === '\n' ? [] : marks })),
  )

/** What is written where the marks change: the ends of some, innermost first, then the beginnings of others. */
export function changeMarks(from: readonly Mark[], to: readonly Mark[]): string {
  const differs = from.findIndex((mark, index) => mark !== to[index])
  const shared = differs === -1 ? from.length : differs
  const closed = from.slice(shared).toReversed()
  return [...closed.map(({ close }) => close), ...to.slice(shared).map(({ open }) => open)].join('')
}
