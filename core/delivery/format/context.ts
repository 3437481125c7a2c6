// What the renderers of Markdown share: the style, how deep they are, and how they are found.
import type { MarkedToken } from './parse.ts'
import type { Span } from './styled-text.ts'
import type { Style } from './style.ts'

export interface Context {
  style: Style
  /** How many blocks and marks are around the token. */
  depth: number
  isQuoted: boolean
}

/** Deeper tokens are shown as they were written. */
const maxDepth = 50

/** A function for each type of token. Tokens of other types are shown as they were written. */
export type Renderers = {
  [Type in MarkedToken['type']]?: (token: Extract<MarkedToken, { type: Type }>, context: Context) => Span[]
}

export const plain = (text: string): Span[] => [{ text, marks: [] }]

export function renderWith(renderers: Renderers, token: MarkedToken, context: Context): Span[] {
  const render = renderers[token.type] as ((token: MarkedToken, context: Context) => Span[]) | undefined
  if (!render || context.depth >= maxDepth) return plain(token.raw)
  return render(token, { ...context, depth: context.depth + 1 })
}
