// Applies edits of single keys to a configuration text, and preserves comments and the rest of the text.
import { dotted } from '../../typebox.ts'
import { ConfigError } from '../config-error.ts'
import { addToListInText, insertIntoListInText, removeFromText, setInText } from './edit-text.ts'
import { readLayout } from './layout.ts'
import { parseJson5Object } from './read.ts'

export interface Edit {
  /** The keys from the root. The key `-` at the end is the place behind the last item of a list. */
  path: readonly string[]
  /** Absent: the key or the item is removed. */
  value?: unknown
  /** True: the value is added to a list before the item at `path`, instead of replacing it. */
  before?: boolean | undefined
}

/** @throws {ConfigError} if the text is not a JSON5 object, or if a list does not have the item */
export function applyEdits(file: string, text: string, edits: readonly Edit[]): string {
  parseJson5Object(file, text)
  return edits.reduce((changed, edit) => applyEdit(file, changed, edit), text)
}

function applyEdit(file: string, text: string, { path, value, before = false }: Edit): string {
  if (value === undefined) return removeFromText(text, path)
  if (path.at(-1) === '-') return addToListInText(text, path.slice(0, -1), value)
  refuseMissingItem(file, text, path)
  if (!before) return setInText(text, path, value)
  refuseKey(file, text, path)
  return insertIntoListInText(text, path, value)
}

function refuseKey(file: string, text: string, path: readonly string[]): void {
  const { insideOf, placeOf } = readLayout(text)
  if (isList(text, insideOf(path.slice(0, -1)))) return
  const problem = 'is not an item of a list, so that nothing can be added before it'
  throw new ConfigError(file, [{ path: dotted(path), ...placeOf(path), problem }])
}

function refuseMissingItem(file: string, text: string, path: readonly string[]): void {
  const { insideOf, positionOf, placeOf } = readLayout(text)
  const lengths = path.map((_, length) => length)
  const missing = lengths.find((length) => {
    const list = path.slice(0, length)
    return isList(text, insideOf(list)) && !positionOf(path.slice(0, length + 1))
  })
  if (missing === undefined) return
  const list = path.slice(0, missing)
  const problem = `has no item ${JSON.stringify(path[missing])}; the key "-" adds one at the end`
  throw new ConfigError(file, [{ path: dotted(list), ...placeOf(list), problem }])
}

const isList = (text: string, inside: number | undefined): boolean => inside !== undefined && text[inside - 1] === '['
