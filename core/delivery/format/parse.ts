// Parses Markdown into a tree. The parser takes linear time for every text, and what is nested too deep as text.
import MarkdownIt, { type Token } from 'markdown-it'

/** A block or an inline part, by markdown-it's name without `_open`, such as `paragraph` or `strong`. */
export interface Node {
  type: string
  token: Token
  children: Node[]
}

/** Nested deeper than this, no reader could follow. An item of a list counts as two. */
const maxNesting = 20

const asWritten = (address: string): string => address

/** The format of the channel decides which addresses may be links, and shows the others as they are. */
const parser = Object.assign(new MarkdownIt({ html: false, linkify: true, maxNesting }), {
  validateLink: () => true,
  normalizeLink: asWritten,
  normalizeLinkText: asWritten,
})
// Only complete addresses become links: `notes.md` is a file.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false })

/** Chinese, Japanese and Korean, with the punctuation of their own and the full-width forms. */
const cjk = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\u3000-\u303F\uFF00-\uFFEF]`
const endsWithCjk = new RegExp(`${cjk}$`, 'u')
const startsWithCjk = new RegExp(`^${cjk}`, 'u')

/**
 * By CommonMark, marks between punctuation and a letter are text, since English has a space there. Chinese, Japanese and
 * Korean have none: beside one of their characters, every `*` and `~` that touches a text may begin or end emphasis.
 */
parser.inline.State = class extends parser.inline.State {
  override scanDelims(start: number, canSplitWord: boolean) {
    const found = super.scanDelims(start, canSplitWord)
    const end = start + found.length
    // The two units of a character beyond U+FFFF.
    const before = this.src.slice(Math.max(0, start - 2), start)
    const after = this.src.slice(end, Math.min(end + 2, this.posMax))
    if (!canSplitWord || !(endsWithCjk.test(before) || startsWithCjk.test(after))) return found
    return { ...found, can_open: found.can_open || /^\S/.test(after), can_close: found.can_close || /\S$/.test(before) }
  }
}

export const parseMarkdown = (markdown: string): Node[] => nest(parser.parse(markdown, {}))

/**
 * The parser returns a flat list, in which a token opens or closes what is between the two. It nests emphasis without a
 * limit, so that what is too deep is put into the deepest node that is allowed.
 */
function nest(tokens: readonly Token[]): Node[] {
  const root: Node[] = []
  const open: Node[][] = [root]
  for (const token of tokens) {
    const siblings = open.at(-1) ?? root
    if (token.nesting < 0) open.pop()
    else if (token.type === 'inline') for (const node of nest(token.children ?? [])) siblings.push(node)
    else if (token.nesting > 0 && open.length > maxNesting) open.push(siblings)
    else if (token.type !== 'text' || token.content !== '') open.push(...addNode(token, siblings))
  }
  return root
}

/** @returns the list for the children of a token that opens something */
function addNode(token: Token, siblings: Node[]): Node[][] {
  const children = token.type === 'image' ? nest(token.children ?? []) : []
  siblings.push({ type: token.type.replace(/_open$/, ''), token, children })
  return token.nesting > 0 ? [children] : []
}
