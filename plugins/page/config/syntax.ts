// Reads the syntax tree of the text in the editor: the path of a place, and the values around it.
import { syntaxTree } from '@codemirror/language'
import type { EditorState } from '@codemirror/state'
import type { SyntaxNode } from '@lezer/common'

/** What is being written at a place. */
export interface Place {
  kind: 'key' | 'value'
  /** The path of the object for a key, and that of the value itself for a value. */
  path: string[]
  /** What a completion replaces, without quotes. */
  from: number
  to: number
  isQuoted: boolean
  /** The keys that the object has already, without the one that is being written. */
  siblings: readonly string[]
}

const scalars: ReadonlySet<string> = new Set(['String', 'Number', 'True', 'False', 'Null'])
const values: ReadonlySet<string> = new Set([...scalars, 'Object', 'Array'])

export function findPlace(state: EditorState, offset: number): Place | undefined {
  const node = nodeBefore(state, offset)
  if (/Comment/.test(node.name)) return undefined
  if (node.name === 'PropertyName') return placeOfToken('key', state, node)
  if (scalars.has(node.name)) return placeOfToken('value', state, node)
  const typed = /(?<![\w$*-])[\w$*-]*$/.exec(state.sliceDoc(state.doc.lineAt(offset).from, offset))
  const word = { from: offset - (typed?.[0].length ?? 0), to: offset, isQuoted: false }
  const inside = containerOf(node, offset)
  if (!inside) return undefined
  const path = pathOf(state, inside)
  if (inside.name === 'Object') return { kind: 'key', path, ...word, siblings: keysOf(state, inside) }
  if (inside.name === 'Property') return { kind: 'value', path, ...word, siblings: [] }
  return inside.name === 'Array' ? { kind: 'value', path: [...path, '0'], ...word, siblings: [] } : undefined
}

/** A property without a colon is a key that is being written. */
function containerOf(node: SyntaxNode, offset: number): SyntaxNode | null {
  const inside = node.name === '{' || node.name === '[' || node.name === 'PropertyColon' ? node.parent : node
  const colon = inside?.name === 'Property' ? inside.getChild('PropertyColon') : undefined
  return colon === null || (colon && colon.to > offset) ? (inside?.parent ?? null) : inside
}

/** What could not be parsed belongs to the node around it. */
function nodeBefore(state: EditorState, offset: number): SyntaxNode {
  let node = syntaxTree(state).resolveInner(offset, -1)
  while (node.type.isError && node.parent) node = node.parent
  return node
}

function placeOfToken(kind: Place['kind'], state: EditorState, node: SyntaxNode): Place {
  const text = state.sliceDoc(node.from, node.to)
  const [quote = ''] = /^["']/.exec(text) ?? []
  const isClosed = quote !== '' && text.length > 1 && text.endsWith(quote)
  const object = kind === 'key' ? node.parent?.parent : undefined
  return {
    kind,
    path: pathOf(state, object ?? node),
    from: node.from + quote.length,
    to: isClosed ? node.to - 1 : node.to,
    isQuoted: quote !== '',
    siblings: object ? keysOf(state, object).filter((key) => key !== textOf(state, node)) : [],
  }
}

/** The keys from the root to a node. */
export function pathOf(state: EditorState, node: SyntaxNode): string[] {
  const path: string[] = []
  for (let at: SyntaxNode | null = node; at?.parent; at = at.parent) {
    if (at.name === 'Property') path.unshift(nameOf(state, at))
    else if (at.parent.name === 'Array' && values.has(at.name)) path.unshift(String(indexOf(at)))
  }
  return path
}

function indexOf(item: SyntaxNode): number {
  let index = 0
  for (let at = item.prevSibling; at; at = at.prevSibling) if (values.has(at.name)) index++
  return index
}

/** The path of the key or the value at an offset. Behind a value, on its line, it is that of the value. */
export function pathAt(state: EditorState, offset: number): string[] {
  const node = nodeBefore(state, offset)
  const before = node.childBefore(offset)
  const isBehind = before !== null && before.to >= state.doc.lineAt(offset).from
  return pathOf(state, isBehind ? before : node)
}

/** The node of the name of a key, or of an item of a list; that of the innermost parent if it does not exist. */
export function nodeAt(state: EditorState, path: readonly string[]): SyntaxNode | undefined {
  let value = valueOf(syntaxTree(state).topNode)
  let found: SyntaxNode | undefined
  for (const key of path) {
    if (value?.name === 'Object') {
      const property = value.getChildren('Property').findLast((one) => nameOf(state, one) === key)
      if (!property) return found
      found = property.firstChild ?? property
      value = valueOf(property)
    } else {
      value = value && childrenOf(value)[Number(key)]
      if (!value) return found
      found = value
    }
  }
  return found
}

const childrenOf = (node: SyntaxNode): SyntaxNode[] => {
  const children: SyntaxNode[] = []
  for (let at = node.firstChild; at; at = at.nextSibling) if (values.has(at.name)) children.push(at)
  return children
}

/** The value of a property, or of the file. */
const valueOf = (node: SyntaxNode): SyntaxNode | undefined => childrenOf(node).at(-1)

/** The content of the text as far as it can be read. */
export const readDocument = (state: EditorState): unknown => readValue(state, valueOf(syntaxTree(state).topNode))

function readValue(state: EditorState, node: SyntaxNode | undefined): unknown {
  if (node?.name === 'Object')
    return Object.fromEntries(
      node.getChildren('Property').map((one) => [nameOf(state, one), readValue(state, valueOf(one))]),
    )
  if (node?.name === 'Array') return childrenOf(node).map((one) => readValue(state, one))
  if (node?.name === 'True' || node?.name === 'False') return node.name === 'True'
  if (node?.name === 'Number') return Number(state.sliceDoc(node.from, node.to))
  return node?.name === 'String' ? textOf(state, node) : undefined
}

const keysOf = (state: EditorState, object: SyntaxNode): string[] =>
  object.getChildren('Property').map((property) => nameOf(state, property))

const nameOf = (state: EditorState, property: SyntaxNode): string => {
  const name = property.getChild('PropertyName')
  return name ? textOf(state, name) : ''
}

/** Without quotes. Escapes stay as they are: names and choices have none. */
const textOf = (state: EditorState, { from, to }: SyntaxNode): string =>
  state.sliceDoc(from, to).replace(/^(["'])(.*)\1$/s, '$2')
