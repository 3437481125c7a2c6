// The fields that an event changed, and the fields of objects for which there are no words.
import { exactNumber, type FieldFormat, line, listFields, quote, words } from 'svc-gateway/kit'
import { dayOf } from './day.ts'
import { money } from './money.ts'
import type { Payload, Thing } from './payload.ts'

const mostChanges = 10

/** The fields that an update changed, with their earlier values if these are short. */
export function changesOf({ data: { object: thing, previous_attributes: before } }: Payload): string | undefined {
  const changed = Object.entries(before ?? {}).slice(0, mostChanges)
  if (changed.length === 0) return undefined
  const named = changed.map(([name, value]) => {
    const earlier = earlierText(name, value, thing)
    return `${nameText(name)}${earlier && ` (was ${earlier})`}`
  })
  return `Changed: ${named.join(', ')}`
}

const nameText = (name: string): string => line(name.replaceAll('_', ' '), 50)

/** Of an object, the fields that are no objects: `last4 "4242", exp year 2030`. */
function earlierText(name: string, value: unknown, thing: Thing): string {
  if (typeof value === 'string') return value.length <= 50 ? quote(value) : ''
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fieldText(name, value, thing) ?? ''
  return Object.entries(value)
    .filter(([, inner]) => typeof inner !== 'object')
    .slice(0, mostChanges)
    .map(([key, inner]) => words(nameText(key), earlierText(key, inner, thing)))
    .join(', ')
}

/** A number, truth value or nothing, by the name of its field; `undefined` for an object. */
function fieldText(name: string, value: unknown, { currency }: Thing): string | undefined {
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'number') return undefined
  if (/(?:^|_)(?:amount|balance|total|subtotal)(?:_|$)/.test(name)) return money(value, currency) ?? String(value)
  return isTime(name, value) ? dayOf(value) : exactNumber(value)
}

const isTime = (name: string, value: number): boolean =>
  value > 1e9 && value < 1e11 && /(?:_at|_by|_on|_end|_start|_date|_time|_until|^start|^end)$/.test(name)

/** Fields that are in the rest of the message. */
const told: ReadonlySet<string> = new Set(
  (
    'amount customer customer_account metadata status name display_name code email description reason ' +
    'failure_message failure_reason number charge card billing_details'
  ).split(' '),
)
/** Fields that say nothing, and secrets. An address may give access to somebody's documents. */
const ignored = /^(?:id|object|created|updated|livemode|deleted|currency|has_more|urls?)$|secret|pdf|_url$|_key$/

/** The fields of an object that the preset has no words for. Texts of Stripe, such as a `type`, stay as they are. */
export const otherFields = (thing: Thing): string[] =>
  listFields(thing, {
    labelOf: (path) => sentence(path.join(' ').replaceAll('_', ' ')),
    textOf: (value, path) => otherText(value, path, thing),
  } satisfies FieldFormat)

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function otherText(value: unknown, path: readonly string[], thing: Thing): string | undefined {
  const name = path.at(-1)
  if (name === undefined) return undefined
  if (value === null || value === false || ignored.test(name) || (path.length === 1 && told.has(name))) return ''
  if (Array.isArray(value))
    return value
      .filter((each) => typeof each === 'string')
      .slice(0, 10)
      .map((each) => line(each, 50))
      .join(', ')
  if (typeof value === 'object') return path.length === 1 ? undefined : ''
  return typeof value === 'string' ? line(value) : (fieldText(name, value, thing) ?? '')
}
