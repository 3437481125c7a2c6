// Finds where a chunk ends: after a paragraph, a line or a word, and inside a word only if it fits into no chunk.
import { changeMarks, type Mark } from './styled-text.ts'

/** A word, a line break, or other whitespace. */
export interface Token {
  text: string
  marks: readonly Mark[]
  kind: 'word' | 'line' | 'space'
}

export interface Meter {
  limit: number
  /** The size of a text after it is escaped. */
  sizeOf(text: string): number
  sizeOfMarks(text: string): number
}

/** What is longer in UTF-16 code units does not fit: no unit counts less than one for two of them. */
export const longestText = (limit: number): number => 2 * limit + 2

export interface Cut {
  /** The first token that is not in the chunk. */
  end: number
  /** If the cut is inside that token: its beginning, which still belongs to the chunk. */
  head?: string
}

/** Places where a chunk may end, by the number of line breaks there: 0, 1, or 2 for more. */
type Breaks = ({ end: number; size: number } | undefined)[]

/** What has been written, without the ends of open marks. */
interface Written {
  size: number
  marks: readonly Mark[]
}

/** The end of the chunk that begins with the token at `start`. */
export function findCut(tokens: readonly Token[], start: number, meter: Meter): Cut {
  const breaks: Breaks = []
  let written: Written = { size: 0, marks: [] }
  let gap = { end: start, size: 0, lines: 0 }
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] as Token
    const next = add(written, token, meter)
    if (token.kind === 'word') {
      const size = totalSize(next, meter)
      if (size > meter.limit) return chooseCut(tokens, { start, at, written, breaks }, meter)
      gap = { end: at + 1, size, lines: 0 }
    } else if (gap.size > 0) {
      if (token.kind === 'line') gap.lines++
      breaks[Math.min(gap.lines, 2)] = { end: gap.end, size: gap.size }
    }
    written = next
  }
  return { end: tokens.length }
}

const add = ({ size, marks }: Written, token: Token, { sizeOf, sizeOfMarks }: Meter): Written => ({
  size: size + sizeOfMarks(changeMarks(marks, token.marks)) + sizeOf(token.text),
  marks: token.marks,
})

const totalSize = ({ size, marks }: Written, { sizeOfMarks }: Meter): number =>
  size + sizeOfMarks(changeMarks(marks, []))

interface Overflow {
  start: number
  /** The word that does not fit. */
  at: number
  written: Written
  breaks: Breaks
}

function chooseCut(tokens: readonly Token[], { start, at, written, breaks }: Overflow, meter: Meter): Cut {
  const known = [breaks[2], breaks[1], breaks[0]].filter((found) => found !== undefined)
  const good = known.find(({ size }) => size >= meter.limit / 2)
  if (good) return { end: good.end }
  const word = tokens[at] as Token
  const endOfHead = (head: string): Cut => (head === word.text ? { end: at + 1 } : { end: at, head })
  const last = known.toSorted((one, other) => other.end - one.end)[0]
  const fitsAlone = totalSize(add({ size: 0, marks: [] }, word, meter), meter) <= meter.limit
  if (last && fitsAlone) return { end: last.end }
  const empty = add(written, { ...word, text: '' }, meter)
  const fits = (text: string) => totalSize(empty, meter) + meter.sizeOf(text) <= meter.limit
  const window = word.text.slice(0, longestText(meter.limit))
  const head = longestFitting(splitIntoGraphemes(window), fits)
  if (head) return endOfHead(head)
  if (last) return { end: last.end }
  if (at > start) return { end: at }
  // A character of several code points is divided only if no chunk can hold it.
  const codePoints = [...window]
  return endOfHead(longestFitting(codePoints, fits) || (codePoints[0] ?? ''))
}

/** The first segmenter loads data for some milliseconds, which the start must not wait for. */
function splitIntoGraphemes(text: string): string[] {
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** The longest beginning that fits. */
function longestFitting(parts: readonly string[], fits: (text: string) => boolean): string {
  let [low, high] = [0, parts.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(parts.slice(0, middle).join(''))) low = middle
    else high = middle - 1
  }
  return parts.slice(0, low).join('')
}
