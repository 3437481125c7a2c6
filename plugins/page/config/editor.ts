// The editor of the configuration file: JSON5 with completion, descriptions and problems at their place.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type Text } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { json5Language } from 'codemirror-json5'
import { type Problem, sentenceOf } from '../ui/problems.tsx'
import type { Checked } from './check.ts'
import { completeFrom, describeOnHover } from './completion.ts'
import type { Schema } from './schema.ts'
import { nodeAt, pathAt } from './syntax.ts'

export interface Editor {
  /** Replaces what differs, so that the cursor and the history stay. */
  setText(text: string): void
  setReadOnly(isReadOnly: boolean): void
  showProblems(checked: Pick<Checked, 'problems' | 'warnings'>): void
  goToLine(line: number, column?: number): void
  /** Moves to a key, or to the innermost existing object that it would be in. */
  goToKey(path: readonly string[]): void
  close(): void
}

interface EditorOptions {
  host: HTMLElement
  text: string
  schema: Schema
  onChange(text: string): void
  /** Called with the path of the key at the cursor. */
  onPlace(path: readonly string[]): void
}

/**
 * The editor is in a shadow root, where its styles are constructed style sheets: the policy of the page allows no
 * style elements.
 */
export function createEditor({ host, text, schema, onChange, onPlace }: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const readOnly = new Compartment()
  const view = new EditorView({
    root,
    parent: root,
    doc: text,
    extensions: [
      extensions,
      readOnly.of([]),
      autocompletion({ override: [completeFrom(schema)], icons: false }),
      describeOnHover(schema),
      EditorView.updateListener.of(({ docChanged, selectionSet, state }) => {
        if (docChanged) onChange(state.doc.toString())
        if (docChanged || selectionSet) onPlace(pathAt(state, state.selection.main.head))
      }),
    ],
  })
  const select = (anchor: number): void => {
    view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
    view.focus()
  }
  return {
    setText: (next) => {
      const changes = findChange(view.state.doc.toString(), next)
      if (changes) view.dispatch({ changes })
    },
    setReadOnly: (isReadOnly) =>
      view.dispatch({ effects: readOnly.reconfigure(isReadOnly ? EditorState.readOnly.of(true) : []) }),
    showProblems: ({ problems, warnings }) => {
      const at = (severity: Diagnostic['severity']) => (problem: Problem) => diagnosticOf(view.state, problem, severity)
      view.dispatch(setDiagnostics(view.state, [...problems.map(at('error')), ...warnings.map(at('warning'))]))
    },
    goToLine: (line, column = 1) => select(offsetOf(view.state.doc, line, column)),
    goToKey: (path) => select(nodeAt(view.state, path)?.from ?? 0),
    close: () => view.destroy(),
  }
}

/** The part between the common start and the common end. */
function findChange(before: string, after: string): { from: number; to: number; insert: string } | undefined {
  if (before === after) return undefined
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) }
}

const offsetOf = (doc: Text, line: number, column: number): number => {
  const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines))
  return Math.min(from + column - 1, to)
}

/** Marks the name of the key, or the word at the place. */
function diagnosticOf(state: EditorState, problem: Problem, severity: Diagnostic['severity']): Diagnostic {
  const { line = 1, column = 1 } = problem
  const from = offsetOf(state.doc, line, column)
  const rest = state.sliceDoc(from, state.doc.lineAt(from).to)
  const length = /^(?:"[^"]*"|'[^']*'|[\w$.-]+|.)?/u.exec(rest)?.[0].length ?? 0
  return { from, to: from + length, severity, message: sentenceOf(problem) }
}

const highlights = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--number)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
])

/** The colors of the page, which differ in light and dark. */
const theme = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--panel)', color: 'var(--text)', fontSize: '12.5px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--accent-soft)',
  },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { boxShadow: 'inset 2px 0 0 var(--accent)' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunken)', border: '0', color: 'var(--muted)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-soft)' },
  '.cm-selectionMatch, .cm-searchMatch': { backgroundColor: 'var(--warn-soft)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--panel)',
    color: 'var(--text)',
    border: '1px solid var(--line-strong)',
    borderRadius: '7px',
    boxShadow: 'var(--shadow)',
    fontFamily: 'var(--sans)',
    fontSize: '13px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--accent-fill)', color: '#fff' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
  'li[aria-selected] .cm-completionDetail': { color: '#fff' },
  '.cm-tooltip.cm-completionInfo': { padding: '0' },
  '.cm-described': { maxWidth: '380px', padding: '8px 10px' },
  '.cm-described p': { margin: '4px 0 0' },
  '.cm-described p:last-child': { color: 'var(--muted)' },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--text)' },
  '.cm-textfield': { backgroundColor: 'var(--panel)', color: 'var(--text)', border: '1px solid var(--line-strong)' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--panel)', border: '1px solid var(--line-strong)' },
})

const extensions = [
  lineNumbers(),
  foldGutter(),
  lintGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  search({ top: true }),
  EditorView.lineWrapping,
  json5Language,
  syntaxHighlighting(highlights),
  theme,
  EditorView.contentAttributes.of({
    'aria-label': 'Text of the configuration file',
    'aria-description': 'Tab indents. Escape, then Tab, leaves the editor.',
  }),
  keymap.of([
    ...closeBracketsKeymap,
    ...defaultKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...foldKeymap,
    ...completionKeymap,
    ...lintKeymap,
    indentWithTab,
  ]),
]
