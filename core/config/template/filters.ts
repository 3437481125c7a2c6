// The filters of templates, such as `{{ due | date }}`. A filter leaves a value that it cannot use as it is.
import { suggest } from '../nearest.ts'
import { isEmpty, toText } from './values.ts'

/** A missing value never reaches a filter. */
type Filter = (value: unknown) => unknown

/** Creates a filter from the argument after the colon; a text is the problem with that argument. */
type FilterFactory = (argument: string | number | undefined, compileItem: CompileItem) => Filter | string

/** Compiles an expression over an element of a list and its index; a text is the problem with it. */
export type CompileItem = (text: string) => ((item: unknown, index: number) => unknown) | string

const filters: Readonly<Record<string, FilterFactory>> = {
  date: withoutArgument(formatDate),
  number: withoutArgument(formatNumber),
  upper: withoutArgument((value) => toText(value).toUpperCase()),
  lower: withoutArgument((value) => toText(value).toLowerCase()),
  trim: withoutArgument((value) => toText(value).trim()),
  truncate: (length) =>
    isLength(length)
      ? (value) => truncate(toText(value), length)
      : `needs a length from 1 to ${maxLength}, such as truncate: 80`,
  json: withoutArgument((value) => JSON.stringify(value)),
  join: (separator = ', ') =>
    typeof separator === 'string'
      ? (value) => join(value, separator)
      : 'needs its separator in quotes, such as join: "; "',
  length: withoutArgument(lengthOf),
  map: createMap,
  prefix: (text) =>
    typeof text === 'string' ? (value) => (isEmpty(value) ? value : text + toText(value)) : 'needs a text in quotes',
  suffix: (text) =>
    typeof text === 'string' ? (value) => (isEmpty(value) ? value : toText(value) + text) : 'needs a text in quotes',
  each: createEach,
}

/** Returns the filter, or what is wrong with it as a sentence without its subject. */
export function createFilter(
  name: string,
  argument: string | number | undefined,
  compileItem: CompileItem,
): Filter | string {
  const factory = Object.hasOwn(filters, name) ? filters[name] : undefined
  if (!factory) {
    const names = Object.keys(filters)
    return `"${name}" is not a filter; ${suggest(name, names, `the filters are ${names.join(', ')}`)}`
  }
  const filter = factory(argument, compileItem)
  return typeof filter === 'string' ? `the filter ${name} ${filter}` : filter
}

function withoutArgument(filter: Filter): FilterFactory {
  return (argument) => (argument === undefined ? filter : 'has no argument; remove what follows its colon')
}

// ── Text ────────────────────────────────────────────────────────────────────────────────────────

const maxLength = 1_000_000

const isLength = (length: string | number | undefined): length is number =>
  typeof length === 'number' && length >= 1 && length <= maxLength

/** Counts characters, not code units, so that no character is cut in half. */
function truncate(text: string, length: number): string {
  if (text.length <= length) return text
  const characters = Array.from(text.slice(0, 2 * length + 2))
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`
}

// ── Lists ───────────────────────────────────────────────────────────────────────────────────────

const join = (value: unknown, separator: string): unknown =>
  Array.isArray(value)
    ? value
        .filter((item) => !isEmpty(item))
        .map(toText)
        .join(separator)
    : value

function lengthOf(value: unknown): unknown {
  if (typeof value === 'string') return Array.from(value).length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : value
}

// ── Tables ──────────────────────────────────────────────────────────────────────────────────────

/** `1=open, 2=closed, *=unknown`. A value that is not in the table stays as it is, unless there is `*`. */
function createMap(argument: string | number | undefined): Filter | string {
  const pairs = String(argument ?? '')
    .split(',')
    .map((pair) => pair.split(/=(.*)/s, 2).map((part) => part.trim()))
  if (pairs.some(([key = '', value]) => key === '' || value === undefined))
    return 'needs a table in quotes, such as map: "1=open, 2=closed, *=unknown"'
  const table = new Map(pairs as [string, string][])
  return (value) => table.get(toText(value)) ?? table.get('*') ?? value
}

/** The most elements that are rendered. */
const maxItems = 200

/** Renders each element of a list as a line: `- {item.name}: {item.size || "?"}`. */
function createEach(argument: string | number | undefined, compileItem: CompileItem): Filter | string {
  if (typeof argument !== 'string' || !/\{[^{}]*\}/.test(argument))
    return 'needs a text in quotes with a path in braces, such as each: "- {item.name}"'
  // The texts at odd positions were in braces.
  const parts = argument.split(/\{([^{}]*)\}/).map((text, index) => (index % 2 === 0 ? () => text : compileItem(text)))
  const problem = parts.find((part) => typeof part === 'string')
  if (problem !== undefined) return `has an expression in braces of which ${problem}`
  return (value) => (Array.isArray(value) ? renderItems(value, parts as ItemPart[]) : value)
}

type ItemPart = (item: unknown, index: number) => unknown

/** An element whose values are all empty is left out. Each of the others is one line. */
function renderItems(items: readonly unknown[], parts: readonly ItemPart[]): string {
  const lines = items.slice(0, maxItems).flatMap((item, index) => {
    const values = parts.map((part) => part(item, index))
    const isBlank = values.every((value, at) => at % 2 === 0 || isEmpty(value))
    return isBlank ? [] : [values.map(toText).join('').replaceAll(/\s+/g, ' ').trim()]
  })
  const more = items.length - maxItems
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

// ── Numbers and times ───────────────────────────────────────────────────────────────────────────

/** `1234567.5` → `1,234,567.5`. It works on the digits, so that long numbers in text keep all of theirs. */
function formatNumber(value: unknown): unknown {
  if (!['number', 'bigint', 'string'].includes(typeof value)) return value
  const [, sign, whole, fraction = ''] = /^(-?)(\d{1,40})(\.\d{1,40})?$/.exec(String(value).trim()) ?? []
  return whole === undefined ? value : `${sign}${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}${fraction}`
}

/** Numbers below it count seconds, which reach the year 5138; others count milliseconds, which begin in 1973. */
const firstMilliseconds = 100_000_000_000

const dayPattern = /^\d{4}-\d{2}-\d{2}$/
const timePattern = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(Z|UTC|[+-]\d{2}:?\d{2}))?$/i

/** A readable time in UTC, to the second. A day without a time stays a day. */
function formatDate(value: unknown): unknown {
  if (typeof value !== 'number' && typeof value !== 'string') return value
  const text = String(value).trim()
  if (dayPattern.test(text)) return text
  const ms = /^-?\d{1,15}(?:\.\d{1,9})?$/.test(text) ? fromUnixTime(Number(text)) : parseTime(text)
  if (Number.isNaN(new Date(ms).getTime())) return value
  return `${new Date(ms).toISOString().slice(0, -'.000Z'.length).replace('T', ' ')} UTC`
}

const fromUnixTime = (time: number): number => (Math.abs(time) < firstMilliseconds ? time * 1000 : time)

/** A time without a zone is in UTC. */
function parseTime(text: string): number {
  const [time, zone] = timePattern.exec(text) ?? []
  if (time === undefined) return Number.NaN
  const bare = time.slice(0, time.length - (zone?.length ?? 0)).trim()
  const offset = zone === undefined || /^(?:Z|UTC)$/i.test(zone) ? 'Z' : zone.replace(/(\d{2}):?(\d{2})$/, '$1:$2')
  return Date.parse(`${bare.replace(/[t ]/, 'T').replace(',', '.')}${offset}`)
}
