// Changes keys in the text of a JSON5 file, and preserves comments, order and formatting of the rest.
import JSON5 from 'json5'
import { readLayout } from './layout.ts'
import { isRecord } from '../walk.ts'

/** Merges `changes` into the text: objects are merged, null removes a key, any other value replaces the old one. */
export function mergeIntoText(
  text: string,
  changes: Readonly<Record<string, unknown>>,
  keys: readonly string[] = [],
): string {
  return Object.entries(changes).reduce((changed, [key, value]) => mergeKey(changed, [...keys, key], value), text)
}

function mergeKey(text: string, keys: readonly string[], value: unknown): string {
  const layout = readLayout(text)
  const position = layout.positionOf(keys)
  if (value === null) return position ? removeMember(text, position) : text
  const isObject = position && text[position.value] === '{'
  if (isRecord(value) && isObject) return mergeIntoText(text, value, keys)
  if (position) return splice(text, [position.value, position.end], render(value, indentAt(text, position.start)))
  const depth = keys.findLastIndex((_, length) => layout.insideOf(keys.slice(0, length)) !== undefined)
  return addMember(text, layout.insideOf(keys.slice(0, depth)) ?? 0, { keys: keys.slice(depth), value })
}

interface Member {
  /** Several keys create nested objects. */
  keys: readonly string[]
  value: unknown
}

/** Inserts a member at the start of an object; on its own line if the object starts with a line break or a comment. */
function addMember(text: string, inside: number, { keys, value }: Member): string {
  const [key = '', ...deeper] = keys
  const nested = deeper.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
  const insertAt = (at: number, inserted: string) => splice(text, [at, at], inserted)
  const [restOfLine] = /^[ \t]*(?:\/\/.*)?(?=\r?\n)/.exec(text.slice(inside)) ?? []
  if (restOfLine === undefined) {
    const member = `${nameOf(key)}: ${onOneLine(nested)}`
    return insertAt(inside, /^\s*\}/.test(text.slice(inside)) ? ` ${member} ` : ` ${member},`)
  }
  const at = inside + restOfLine.length
  const [untilFirst = ''] = /^(?:\r?\n[ \t]*)+(?=[^\s}])/.exec(text.slice(at)) ?? []
  const [indent = '\n  '] = /\r?\n[ \t]*$/.exec(untilFirst) ?? []
  return insertAt(at, `${indent}${nameOf(key)}: ${render(nested, indent.replace(/^\r?\n/, ''))},`)
}

interface Extent {
  start: number
  end: number
}

/** Removes a member with its comma, and with its line if nothing else is on it. */
function removeMember(text: string, { start, end }: Extent): string {
  const comma = /^\s*,/.exec(text.slice(end))?.[0].length ?? 0
  const before = /\n?[ \t]*$/.exec(text.slice(0, start))?.[0] ?? ''
  const isAloneInLine = before.startsWith('\n') && /^[ \t]*(?:\r?\n|$)/.test(text.slice(end + comma))
  return splice(text, [isAloneInLine ? start - before.length : start, end + comma], '')
}

const splice = (text: string, [from, to]: readonly [number, number], inserted: string): string =>
  text.slice(0, from) + inserted + text.slice(to)

/** The indentation of the line at an offset. */
const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? ''

/** A null removes a key, so it has no effect in a new object. */
const withoutNulls = (value: unknown): unknown =>
  isRecord(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, child]) => (child === null ? [] : [[key, withoutNulls(child)]])),
      )
    : value

/** Renders on one line if it is short enough. */
function render(value: unknown, indent: string): string {
  const line = onOneLine(value)
  return line.length <= 100
    ? line
    : JSON5.stringify(withoutNulls(value), { space: 2, quote: "'" }).replaceAll('\n', `\n${indent}`)
}

const onOneLine = (value: unknown): string =>
  isRecord(value)
    ? `{ ${Object.entries(withoutNulls(value) as object)
        .map(([key, child]) => `${nameOf(key)}: ${onOneLine(child)}`)
        .join(', ')} }`
    : JSON5.stringify(value, { quote: "'" })

const nameOf = (key: string): string => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key))
