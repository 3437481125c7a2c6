// Compiles and renders templates such as `Mail from {{ messages[0].from }}`. They look values up and run no code.
import { GatewayError } from '../../errors.ts'
import { compileExpression, type Expression, type TemplateScope } from './expression.ts'
import { isEmpty, toText } from './values.ts'

export { compilePath, type Expression, type TemplateScope } from './expression.ts'

/** Throws `invalid_request` if the text becomes too large. */
export type Template = (scope: TemplateScope) => string

const maxBytes = 1024 * 1024

/**
 * A template of several lines loses the lines whose placeholders are all empty. An invalid expression renders as empty
 * text; `findTemplateProblems` reports it.
 */
export function compileTemplate(text: string): Template {
  const lines = parseLines(text)
  return (scope) => {
    const rendered = renderAll(lines, scope) ?? renderLines(lines, scope)
    if (rendered.length > maxBytes / bytesPerCodeUnit && Buffer.byteLength(rendered) > maxBytes)
      throw createTooLargeError()
    return rendered
  }
}

/** The maximum in UTF-8. */
const bytesPerCodeUnit = 3

const createTooLargeError = () =>
  new GatewayError('invalid_request', 'A template renders this payload to more than 1 MiB; send less.')

export interface TemplateProblem {
  /** The end of a sentence about the template. */
  problem: string
  /** The template can be used. */
  warning: boolean
}

/** Describes each invalid expression, and braces that are never closed. */
export function findTemplateProblems(text: string): TemplateProblem[] {
  const segments = parseSegments(text)
  const problems = segments.flatMap(({ inner, at }) => {
    const problem = inner === undefined ? undefined : compileExpression(inner)
    return typeof problem === 'string'
      ? [{ problem: `contains {{${inner}}} at ${placeOf(text, at)}: ${problem}`, warning: false }]
      : []
  })
  const unclosed = segments.at(-1)?.literal?.includes('{{')
    ? [{ problem: 'contains "{{" without a closing "}}", so it is sent as plain text; add "}}"', warning: true }]
    : []
  return [...problems, ...unclosed]
}

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split('\n')
  const column = `character ${(lines.at(-1) ?? '').length + 1}`
  return text.includes('\n') ? `line ${lines.length}, ${column}` : column
}

/** Returns a function that tells whether any placeholder of the text is empty. */
export function compileHasEmpty(text: string): (scope: TemplateScope) => boolean {
  const expressions = parseLines(text).flatMap(({ parts }) => parts.filter((part) => typeof part !== 'string'))
  return (scope) => expressions.some((expression) => isEmpty(expression(scope)))
}

/** Whether the text contains an expression. */
export const isTemplate = (text: string): boolean => text.includes('{{')

// ── Parsing ─────────────────────────────────────────────────────────────────────────────────────

/** Plain text, or the text between two pairs of braces, and its position. */
type Segment = { literal: string; inner?: never; at: number } | { literal?: never; inner: string; at: number }

/** Braces that are never closed are text. A single pass, so that the time is linear in the length. */
function parseSegments(text: string): Segment[] {
  const segments: Segment[] = []
  let from = 0
  for (;;) {
    const open = text.indexOf('{{', from)
    const close = open < 0 ? -1 : text.indexOf('}}', open + 2)
    if (close < 0) {
      segments.push({ literal: text.slice(from), at: from })
      return segments
    }
    segments.push({ literal: text.slice(from, open), at: from }, { inner: text.slice(open + 2, close), at: open })
    from = close + 2
  }
}

/** A line of the template. Line breaks that a value inserts do not begin a line. */
interface Line {
  /** The line break before it; empty for the first line. */
  lineBreak: string
  parts: (string | Expression)[]
  /** Whether it is dropped when all of its placeholders are empty. A template of one line is never dropped. */
  isOptional: boolean
}

function parseLines(text: string): Line[] {
  let line: Line = { lineBreak: '', parts: [], isOptional: false }
  const lines = [line]
  for (const { literal, inner } of parseSegments(text)) {
    if (inner !== undefined) {
      const expression = compileExpression(inner)
      line.parts.push(typeof expression === 'string' ? '' : expression)
      line.isOptional = true
      continue
    }
    // The texts at odd positions are the line breaks.
    const [first = '', ...rest] = literal.split(/(\r?\n)/)
    line.parts.push(first)
    for (let at = 0; at < rest.length; at += 2)
      lines.push((line = { lineBreak: rest[at] ?? '', parts: [rest[at + 1] ?? ''], isOptional: false }))
  }
  if (lines.length === 1) line.isOptional = false
  return lines
}

// ── Rendering ───────────────────────────────────────────────────────────────────────────────────

/** Text that grows to at most the maximum. */
function append(text: string, more: string): string {
  if (text.length + more.length > maxBytes) throw createTooLargeError()
  return text + more
}

const isBlank = ({ parts }: Line): boolean => parts.every((part) => typeof part === 'string' && part.trim() === '')

/** The fast path, for most payloads. Returns undefined as soon as a line must be dropped. */
function renderAll(lines: readonly Line[], scope: TemplateScope): string | undefined {
  let rendered = ''
  for (const line of lines) {
    const text = renderLine(line, scope)
    if (text === undefined) return undefined
    rendered = append(rendered, line.lineBreak + text)
  }
  return rendered
}

/** Returns undefined when all placeholders of the line are empty. */
function renderLine({ parts, isOptional }: Line, scope: TemplateScope): string | undefined {
  let rendered = ''
  let isKept = !isOptional
  for (const part of parts) {
    const value = typeof part === 'string' ? part : part(scope)
    if (typeof part !== 'string' && !isKept) isKept = !isEmpty(value)
    rendered = append(rendered, toText(value))
  }
  return isKept ? rendered : undefined
}

/** Blank lines around a dropped line become one, or none at the beginning and at the end of the text. */
function renderLines(lines: readonly Line[], scope: TemplateScope): string {
  let rendered = ''
  let isFirst = true
  let hasDropped = false
  let blankLines: Line[] = []
  const add = (lineBreak: string, text: string): void => {
    rendered = append(rendered, (isFirst ? '' : lineBreak) + text)
    isFirst = false
  }
  const addBlankLines = (most: number): void => {
    for (const line of blankLines.slice(0, hasDropped ? most : undefined)) add(line.lineBreak, line.parts.join(''))
    ;[blankLines, hasDropped] = [[], false]
  }
  for (const line of lines) {
    const text = renderLine(line, scope)
    if (text === undefined) hasDropped = true
    else if (isBlank(line)) blankLines.push(line)
    else {
      addBlankLines(isFirst ? 0 : 1)
      add(line.lineBreak, text)
    }
  }
  addBlankLines(0)
  return rendered
}
