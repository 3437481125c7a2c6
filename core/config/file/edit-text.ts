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
  const position = readLayout(text).positionOf(keys)
  if (value === null) return removeFromText(text, keys)
  const isObject = position && text[position.value] === '{'
  if (isRecord(value) && isObject) return mergeIntoText(text, value, keys)
  return setInText(text, keys, withoutNulls(value))
}

/** Sets a key, with the objects that it is in, or an existing item of a list. */
export function setInText(text: string, keys: readonly string[], value: unknown): string {
  const layout = readLayout(text)
  const depth = keys.findLastIndex((_, length) => layout.insideOf(keys.slice(0, length)) !== undefined)
  const [key = '', ...deeper] = keys.slice(depth)
  const nested = deeper.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
  const position = layout.positionOf(keys.slice(0, depth + 1))
  if (position) return splice(text, [position.value, position.end], render(nested, indentAt(text, position.start)))
  return addMember(text, layout.insideOf(keys.slice(0, depth)) ?? 0, { key, value: nested })
}

/** Adds an item to the end of a list, which is created if it does not exist. */
export function addToListInText(text: string, keys: readonly string[], item: unknown): string {
  const layout = readLayout(text)
  const inside = layout.insideOf(keys)
  if (inside === undefined) return setInText(text, keys, [item])
  let count = 0
  while (layout.positionOf([...keys, String(count)])) count++
  const last = layout.positionOf([...keys, String(count - 1)])
  if (!last) return splice(text, [inside, inside], onOneLine(item))
  const isOnOwnLine = /(?:^|\n)[ \t]*$/.test(text.slice(0, last.start))
  const separator = isOnOwnLine ? `\n${indentAt(text, last.start)}` : ' '
  const comma = /^\s*,/.exec(text.slice(last.end))?.[0].length
  const at = last.end + (comma ?? 0)
  // A comment behind the last item belongs to it.
  const rest = isOnOwnLine ? (/^[ \t]*\/\/.*/.exec(text.slice(at))?.[0] ?? '') : ''
  const added = `${comma === undefined ? ',' : ''}${rest}${separator}${render(item, indentAt(text, last.start))}`
  return splice(text, [at, at + rest.length], `${added}${isOnOwnLine ? ',' : ''}`)
}

/** Adds an item before an existing item of a list. The comments on the lines above that one stay with it. */
export function insertIntoListInText(text: string, keys: readonly string[], item: unknown): string {
  const at = readLayout(text).positionOf(keys)?.start ?? 0
  let from = text.lastIndexOf('\n', at - 1) + 1
  if (text.slice(from, at).trim() !== '') return splice(text, [at, at], `${onOneLine(item)}, `)
  const startOfLineBefore = (): number => text.lastIndexOf('\n', from - 2) + 1
  while (from > 0 && text.slice(startOfLineBefore(), from).trimStart().startsWith('//')) from = startOfLineBefore()
  const indent = indentAt(text, at)
  return splice(text, [from, from], `${indent}${render(item, indent)},\n`)
}

/** Removes a key of an object, or an item of a list. */
export function removeFromText(text: string, keys: readonly string[]): string {
  const position = readLayout(text).positionOf(keys)
  return position ? removeMember(text, position) : text
}

interface Member {
  key: string
  value: unknown
}

/** Inserts a member at the start of an object; on its own line if the object starts with a line break or a comment. */
function addMember(text: string, inside: number, { key, value }: Member): string {
  const insertAt = (at: number, inserted: string) => splice(text, [at, at], inserted)
  const [restOfLine] = /^[ \t]*(?:\/\/.*)?(?=\r?\n)/.exec(text.slice(inside)) ?? []
  if (restOfLine === undefined) {
    const member = `${nameOf(key)}: ${onOneLine(value)}`
    return insertAt(inside, /^\s*\}/.test(text.slice(inside)) ? ` ${member} ` : ` ${member},`)
  }
  const at = inside + restOfLine.length
  const [untilFirst = ''] = /^(?:\r?\n[ \t]*)+(?=[^\s}])/.exec(text.slice(at)) ?? []
  const [indent = '\n  '] = /\r?\n[ \t]*$/.exec(untilFirst) ?? []
  return insertAt(at, `${indent}${nameOf(key)}: ${render(value, indent.replace(/^\r?\n/, ''))},`)
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
  return line.length <= 100 ? line : JSON5.stringify(value, { space: 2, quote: "'" }).replaceAll('\n', `\n${indent}`)
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  if (!isRecord(value)) return JSON5.stringify(value, { quote: "'" })
  const members = Object.entries(value).map(([key, child]) => `${nameOf(key)}: ${onOneLine(child)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

const nameOf = (key: string): string => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key))
