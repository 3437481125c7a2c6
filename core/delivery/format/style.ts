// What a format says about itself: how it writes marks, and what it escapes.
import type { Mark, Span } from './styled-text.ts'

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

export const markOf = (open: string, close = open): Mark => ({ open, close })

export const plainStyle: Style = { link: () => undefined, escape: (text) => text, finish: (spans) => spans }
