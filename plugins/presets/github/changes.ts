// What an edit changed. GitHub sends the earlier values, some later ones, and the object as it is now.
import { fieldsOf, line, listOf, plain, quote, valueText, words } from 'svc-gateway/kit'

const mostChanges = 20
const deepest = 4

type Fields = Readonly<Record<string, unknown>>

/** One line for each change: `- description: "The old" → "The new"`. `now` has the later values by the same names. */
export function changesOf(changes: unknown, ...now: readonly unknown[]): string[] {
  const found = listChanges(fieldsOf(changes), now, [])
  const more = found.length - mostChanges
  return more > 0 ? [...found.slice(0, mostChanges), `- and ${more} more`] : found
}

function listChanges(changes: Fields, now: readonly unknown[], path: readonly string[]): string[] {
  if (path.length === deepest || Array.isArray(changes)) return []
  return Object.entries(changes).flatMap(([name, change]) => {
    const here = [...path, name]
    const fields = fieldsOf(change)
    const later = now.flatMap((each) => (Object.hasOwn(fieldsOf(each), name) ? [fieldsOf(each)[name]] : []))
    if (Array.isArray(change)) return change.length > 0 ? [`- ${labelOf(here)}: ${changeText(change)}`] : []
    if (!('from' in fields) && !('to' in fields)) return listChanges(fields, later, here)
    const [before, after] = [fields['from'], 'to' in fields ? fields['to'] : later[0]].map(changeText)
    if (before === after) return []
    return [`- ${labelOf(here)}: ${'from' in fields ? endsOf(before, after) : `now ${after ?? 'none'}`}`]
  })
}

const endsOf = (before: string | undefined, after: string | undefined): string =>
  after === undefined ? `was ${before ?? 'something else'}` : `${before ?? 'none'} → ${after}`

/** `old_permission` is the permission before. */
const labelOf = (path: readonly string[]): string => line(plain(path.join(' ').replace(/^old_/, '')), 100)

/** A value in a few words; `undefined` if it is not known. */
function changeText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (value === null || value === '') return 'none'
  if (typeof value === 'string') return quote(value, 200) || 'none'
  if (typeof value !== 'object') return typeof value === 'boolean' ? (value ? 'yes' : 'no') : valueText(value)
  if (Array.isArray(value)) return listText(listOf(value))
  const { login, name, title } = value as Fields
  const called = [login, name, title].find((each) => typeof each === 'string')
  return typeof called === 'string' ? quote(called, 200) : settingsText(value as Fields)
}

function listText(values: readonly unknown[]): string {
  const texts = values.slice(0, mostChanges).flatMap((each) => line(valueText(each), 50) || [])
  if (texts.length === 0) return values.length === 0 ? 'none' : String(values.length)
  return [...texts, ...(values.length > mostChanges ? ['…'] : [])].join(', ')
}

/** `admin no, push yes` */
const settingsText = (settings: Fields): string | undefined =>
  Object.entries(settings)
    .filter(([, value]) => typeof value !== 'object')
    .slice(0, mostChanges)
    .map(([name, value]) => words(line(plain(name), 50), changeText(value)))
    .join(', ') || undefined

/** Settings of security that were turned on or off, by their status before and after. */
export function statusChanges(before: unknown, after: unknown): string[] {
  const statusOf = (settings: unknown, name: string) =>
    valueText(fieldsOf(fieldsOf(settings)[name])['status']) || 'none'
  return [...new Set([...Object.keys(fieldsOf(before)), ...Object.keys(fieldsOf(after))])]
    .filter((name) => statusOf(before, name) !== statusOf(after, name))
    .slice(0, mostChanges)
    .map((name) => `- ${line(plain(name), 100)}: ${statusOf(before, name)} → ${statusOf(after, name)}`)
}
