// Changes the text of a JSON5 file key by key; comments, order and spelling of all the rest stay as they are.
import JSON5 from 'json5'
import { readLayout } from './layout.ts'
import { isRecord } from '../walk.ts'

/** The text with `changes` in it: objects are merged, null removes a key, anything else replaces. */
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
  /** More than one: objects in each other. */
  keys: readonly string[]
  value: unknown
}

/**
 * Puts a member first into an object; on a line of its own where the object begins with a line break, after a comment
 * on the brace's line.
 */
export function addMember(text: string, inside: number, { keys, value }: Member): string {
  const [key = '', ...deeper] = keys
  const nested = deeper.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
  const put = (at: number, piece: string) => splice(text, [at, at], piece)
  const [restOfLine] = /^[ \t]*(?:\/\/.*)?(?=\r?\n)/.exec(text.slice(inside)) ?? []
  if (restOfLine === undefined) {
    const member = `${nameOf(key)}: ${onOneLine(nested)}`
    return put(inside, /^\s*\}/.test(text.slice(inside)) ? ` ${member} ` : ` ${member},`)
  }
  const at = inside + restOfLine.length
  const [untilFirst = ''] = /^(?:\r?\n[ \t]*)+(?=[^\s}])/.exec(text.slice(at)) ?? []
  const [indent = '\n  '] = /\r?\n[ \t]*$/.exec(untilFirst) ?? []
  return put(at, `${indent}${nameOf(key)}: ${render(nested, indent.replace(/^\r?\n/, ''))},`)
}

interface Extent {
  start: number
  end: number
}

/** With its comma, and with its line where nothing else stands there. */
function removeMember(text: string, { start, end }: Extent): string {
  const comma = /^\s*,/.exec(text.slice(end))?.[0].length ?? 0
  const before = /\n?[ \t]*$/.exec(text.slice(0, start))?.[0] ?? ''
  const aloneInLine = before.startsWith('\n') && /^[ \t]*(?:\r?\n|$)/.test(text.slice(end + comma))
  return splice(text, [aloneInLine ? start - before.length : start, end + comma], '')
}

const splice = (text: string, [from, to]: readonly [number, number], piece: string): string =>
  text.slice(0, from) + piece + text.slice(to)

/** The white space with which the line of an offset begins. */
const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? ''

/** Keys that are to be removed from what is not there are nothing. */
const withoutNulls = (value: unknown): unknown =>
  isRecord(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, child]) => (child === null ? [] : [[key, withoutNulls(child)]])),
      )
    : value

/** On one line while that is short enough. */
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
