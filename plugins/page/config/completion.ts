// Completes keys and values from the schema, and describes the key under the pointer.
import {
  type Completion,
  type CompletionContext,
  type CompletionSource,
  pickedCompletion,
  startCompletion,
} from '@codemirror/autocomplete'
import { syntaxTree } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { type EditorView, hoverTooltip } from '@codemirror/view'
import {
  childOf,
  choicesOf,
  describeDefault,
  describeType,
  formatPath,
  propertiesOf,
  type Schema,
  schemaAt,
  typesOf,
} from './schema.ts'
import { findPlace, pathOf, type Place, readDocument } from './syntax.ts'

export const completeFrom =
  (root: Schema): CompletionSource =>
  (context: CompletionContext) => {
    const place = findPlace(context.state, context.pos)
    if (!place || (!context.explicit && place.from === context.pos && !place.isQuoted)) return null
    const document = readDocument(context.state)
    const schema = schemaAt(root, place.path, document)
    const options = place.kind === 'key' ? completeKeys(place, schema, document) : completeValues(place, schema)
    return { from: place.from, to: place.to, options, validFor: /^[\w$*./:-]*$/ }
  }

type Apply = Exclude<Completion['apply'], string | undefined>

function completeKeys(place: Place, schema: Schema | undefined, document: unknown): Completion[] {
  const value = place.path.reduce(childOf, document)
  return Array.from(propertiesOf(schema, value))
    .filter(([key]) => !place.siblings.includes(key))
    .map(([key, child]) => ({
      label: key,
      type: 'property',
      detail: describeType(child),
      info: () => describeKey([...place.path, key], child),
      apply: (...[view, completion, from, to]: Parameters<Apply>) =>
        insertKey(view, { completion, place: { ...place, from, to }, schema: child }),
    }))
}

function completeValues(place: Place, schema: Schema | undefined): Completion[] {
  const choices = choicesOf(schema)
  const fallback: unknown = schema?.default
  const isScalar = ['string', 'number', 'boolean'].includes(typeof fallback)
  const offered = [...choices, ...(isScalar && !choices.includes(fallback as string) ? [fallback as string] : [])]
  return offered.map((value, index) => ({
    label: String(value),
    type: 'enum',
    apply: typeof value === 'string' && !place.isQuoted ? quote(value) : String(value),
    detail: value === fallback ? 'default' : '',
    info: () => (schema ? describeKey(place.path, schema) : null),
    // In the order of the schema.
    boost: -index,
  }))
}

interface Insertion {
  completion: Completion
  place: Place
  schema: Schema
}

/** Inserts a key with what its value begins with, and a comma. */
function insertKey(view: EditorView, { completion, place, schema }: Insertion): void {
  const { state } = view
  const quotes = place.isQuoted ? 1 : 0
  const [from, end] = [place.from - quotes, place.to]
  const hasEndQuote = quotes === 1 && /["']/.test(state.sliceDoc(end, end + 1))
  const to = hasEndQuote ? end + 1 : end
  const rest = state.sliceDoc(to, to + 200)
  const name = /^[A-Za-z_$][\w$]*$/.test(completion.label) ? completion.label : quote(completion.label)
  const [open, close] = bracketsOf(schema)
  const isNamed = /^\s*:/.test(rest)
  const comma = /^\s*,|^[ \t]*\}/.test(rest) ? '' : ','
  const insert = isNamed ? name : `${name}: ${open}${close}${comma}`
  const anchor = from + name.length + (isNamed ? 0 : 2 + open.length)
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor },
    scrollIntoView: true,
    userEvent: 'input.complete',
    annotations: pickedCompletion.of(completion),
  })
  if (!isNamed && choicesOf(schema).length > 0) startCompletion(view)
}

function bracketsOf(schema: Schema): readonly [string, string] {
  const types = typesOf(schema)
  if (choicesOf(schema).length > 0) return ['', '']
  if (types.has('string')) return ["'", "'"]
  if (types.has('array')) return ['[', ']']
  return types.has('object') ? ['{ ', ' }'] : ['', '']
}

const quote = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`

/** Describes the key under the pointer. */
export const describeOnHover = (root: Schema): Extension =>
  hoverTooltip((view, offset, side) => {
    const { state } = view
    const node = syntaxTree(state).resolveInner(offset, side)
    if (node.name !== 'PropertyName' || !node.parent) return null
    const path = pathOf(state, node.parent)
    const schema = schemaAt(root, path, readDocument(state))
    if (!schema) return null
    return { pos: node.from, end: node.to, above: true, create: () => ({ dom: describeKey(path, schema) }) }
  })

function describeKey(path: readonly string[], schema: Schema): HTMLElement {
  const box = document.createElement('div')
  box.className = 'cm-described'
  const add = (tag: string, text: string): void => {
    if (text === '') return
    const element = document.createElement(tag)
    element.textContent = text
    box.append(element)
  }
  const fallback = describeDefault(schema)
  add('strong', formatPath(path))
  add('p', schema.description ?? '')
  add('p', [describeType(schema), fallback === undefined ? '' : `default ${fallback}`].filter(Boolean).join('; '))
  return box
}
