// The formats of channels: how each one writes marks, and what it escapes.
import type { TextMark, TextMarks, TextRange } from '../../plugin/plugin.ts'
import { endMarksAtLines, type Mark, type Span } from './styled-text.ts'

export interface Style {
  bold?: Mark
  italic?: Mark
  strike?: Mark
  code?: Mark
  block?: Mark
  /** Absent: each quoted line begins with `> `. */
  quote?: Mark
  /** The mark of a link, or undefined if the address is written after the text. */
  link(address: string): Mark | undefined
  escape(text: string): string
  /** The last step: adapts the spans of a whole text. */
  finish(spans: Span[]): Span[]
}

const markOf = (open: string, close: string): Mark => ({ open, close })

export const plainStyle: Style = { link: () => undefined, escape: (text) => text, finish: (spans) => spans }

// ── HTML, as Telegram accepts it ─────────────────────────────────────────────────────────────────

const tag = (name: string) => markOf(`<${name}>`, `</${name}>`)

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escapeHtml = (text: string): string => text.replace(/[&<>]/g, (character) => escapes[character] as string)
const escapeAttribute = (text: string): string => text.replace(/[&<>"]/g, (character) => escapes[character] as string)

/** Longer addresses are written as text, so that a link never fills a message. */
const maxAddressLength = 500

/** Telegram drops a link to a host without a dot, and shows only its text. */
const isLinkable = (address: string): boolean =>
  /^(?:https?:|mailto:|tg:)[^\s\p{Cc}]+$/iu.test(address) &&
  !/^https?:\/\/(?:[^/?#@]*@)?[^/?#.[]*(?:[/?#]|$)/i.test(address) &&
  address.length <= maxAddressLength

export const html: Style = {
  bold: tag('b'),
  italic: tag('i'),
  strike: tag('s'),
  code: tag('code'),
  block: { ...tag('pre'), isBlock: true },
  quote: tag('blockquote'),
  link: (address) => (isLinkable(address) ? markOf(`<a href="${escapeAttribute(address)}">`, '</a>') : undefined),
  escape: escapeHtml,
  finish: (spans) => spans,
}

// ── The marks of a platform ─────────────────────────────────────────────────────────────────────

export const styleOf = ({ bold, italic, strike, code, codeBlock, endAtLines }: TextMarks): Style => ({
  ...plainStyle,
  bold: toMark(bold),
  italic: toMark(italic),
  strike: toMark(strike),
  code: toMark(code),
  block: codeBlock && { ...markOf(...codeBlock), isBlock: true },
  finish: endAtLines ? endMarksAtLines : plainStyle.finish,
})

const toMark = (mark: TextMark | undefined): Mark | undefined => mark && markOf(...mark)

// ── Ranges: a text without marks, and beside it where each style begins and how long it is ──────

const rangeOf = (range: TextRange['style']): Mark => ({ open: '', close: '', range })

export const ranges: Style = {
  bold: rangeOf('bold'),
  italic: rangeOf('italic'),
  strike: rangeOf('strike'),
  code: rangeOf('code'),
  block: { ...rangeOf('code'), isBlock: true },
  link: () => undefined,
  escape: (text) => text,
  finish: (spans) => spans,
}
