// Parses Markdown into a tree of tokens. Texts that are built to exhaust the parser are taken as plain text.
import { Lexer, type MarkedToken, type Token } from 'marked'

export type { MarkedToken, Token, Tokens } from 'marked'

/** Nested this deep, no reader could follow. The parser is recursive. */
const tooDeep = /^(?:[ \t]*>){30}|^[ \t]{100}[ \t]*(?:[-*+]|\d+[.)])[ \t]/m
/** The time to parse a paragraph grows with the square of the number of its marks. */
const tooManyMarks = 2_000

export function parseMarkdown(markdown: string): MarkedToken[] {
  if (isHostile(markdown)) return [{ type: 'text', raw: markdown, text: markdown, escaped: false }]
  return new Lexer({ gfm: true }).lex(markdown) as Token[] as MarkedToken[]
}

const isHostile = (markdown: string): boolean =>
  tooDeep.test(markdown) ||
  markdown.split(/\n[ \t]*\n/).some((paragraph) => paragraph.replaceAll(/[^*_~]/g, '').length > tooManyMarks)
