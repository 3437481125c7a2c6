// Proposes a message template with the fields of a payload that a reader needs first.
import { isRecord } from '../../config/walk.ts'

/** Words that name what a reader wants to know, most wanted first. */
const telling = (
  'event event_type type action topic status state severity level priority title subject name summary message text ' +
  'description body content reason error amount total currency email from user username author number count branch ' +
  'environment host service url html_url link'
).split(' ')

const most = 8
const fewest = 3

interface Leaf {
  keys: readonly string[]
  /** Lower is better. */
  rank: number
}

/** @param placeholder begins a value that stands for a secret */
export function proposeMessage(payload: unknown, placeholder: string): string {
  const leaves = [...listLeaves(payload, [])].filter(({ value }) => !String(value).includes(placeholder))
  const ranked = leaves.map(({ keys }) => ({ keys, rank: rankOf(keys) }))
  const told = ranked.filter(({ rank }) => rank < Infinity).toSorted((a, b) => a.rank - b.rank)
  const chosen = new Set(told.length < fewest ? [...told, ...ranked].slice(0, most) : told.slice(0, most))
  return ranked
    .filter((leaf) => chosen.has(leaf))
    .map(({ keys }) => `${labelOf(keys)}: {{ ${pathOf(keys)} }}`)
    .join('\n')
}

/** Texts and numbers that are not blank. Of a list, the first element stands for all. */
function* listLeaves(value: unknown, keys: readonly string[]): Iterable<{ keys: readonly string[]; value: unknown }> {
  if (keys.length > 5) return
  if (Array.isArray(value)) yield* listLeaves(value[0], [...keys, '0'])
  else if (isRecord(value)) for (const [key, inner] of Object.entries(value)) yield* listLeaves(inner, [...keys, key])
  else if (typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')) yield { keys, value }
}

/** The word counts more than the depth, so that `data.title` comes before `id`. */
function rankOf(keys: Leaf['keys']): number {
  const word = keys.findLast((key) => !/^\d+$/.test(key)) ?? ''
  const rank = telling.indexOf(word.replaceAll(/(?<=[a-z\d])(?=[A-Z])|-/g, '_').toLowerCase())
  return rank === -1 ? Infinity : rank + 10 * keys.length
}

/** `order.customer_name` → `Order customer name` */
function labelOf(keys: Leaf['keys']): string {
  const words = keys
    .filter((key) => !/^\d+$/.test(key))
    .slice(-2)
    .join(' ')
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()
  return words === '' ? 'Value' : words.charAt(0).toUpperCase() + words.slice(1)
}

/** Names that mean something else at the start of an expression. */
const roots: ReadonlySet<string> = new Set(['payload', 'headers', 'query', 'path', 'now', 'item', 'index'])

/** `["a", "0", "b c"]` → `a[0]["b c"]` */
function pathOf(keys: Leaf['keys']): string {
  const [first = ''] = keys
  const isPlain = (key: string): boolean => /^[A-Za-z_][\w-]*$/.test(key)
  const begin = isPlain(first) && !roots.has(first) ? '' : 'payload'
  return keys.reduce((path, key) => {
    if (/^\d+$/.test(key)) return `${path}[${key}]`
    if (!isPlain(key)) return `${path}[${key.includes('"') ? `'${key}'` : `"${key}"`}]`
    return path === '' ? key : `${path}.${key}`
  }, begin)
}
