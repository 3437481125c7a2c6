// The fields that an event changed, and the fields of objects for which there are no words.
import { exactNumber, type FieldFormat, line, listFields, quote, words } from 'svc-gateway/kit'
import { dayOf } from './day.ts'
import { hasMoneyAt, hasMoneyFields, moneyAt } from './money-fields.ts'
import type { Payload, Thing } from './payload.ts'

const mostChanges = 10

/** The fields that an update changed, with their earlier values if these are short. */
export function changesOf({ data: { object: thing, previous_attributes: before } }: Payload): string | undefined {
  const changed = Object.entries(before ?? {})
  if (changed.length === 0) return undefined
  const former = merged(thing, before) as Thing
  const named = changed.slice(0, mostChanges).map(([name, value]) => {
    const earlier = earlierText([name], value, former)
    return `${nameText(name)}${earlier && ` (was ${earlier})`}`
  })
  const more = changed.length - named.length
  return `Changed: ${[...named, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')}`
}

/** The object as it was: an amount that changed with its currency was one of the earlier currency. */
function merged(now: unknown, before: unknown): unknown {
  if (!isFields(now) || !isFields(before)) return before
  const changed = Object.entries(before).map(([name, value]) => [name, merged(now[name], value)])
  return { ...now, ...Object.fromEntries(changed) }
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const nameText = (name: string): string => line(name.replaceAll('_', ' '), 50)

/** Of an object, the fields that are no objects: `last4 "4242", exp year 2030`. */
function earlierText(path: readonly string[], value: unknown, former: Thing): string {
  if (typeof value === 'string') return value.length <= 50 ? quote(value) : ''
  if (!isFields(value)) return fieldText(path, value, former) ?? ''
  return Object.entries(value)
    .filter(([, inner]) => typeof inner !== 'object')
    .slice(0, mostChanges)
    .map(([key, inner]) => words(nameText(key), earlierText([...path, key], inner, former)))
    .join(', ')
}

/** A number, truth value or nothing; `undefined` for an object. */
function fieldText(path: readonly string[], value: unknown, thing: Thing): string | undefined {
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'number') return undefined
  const amount = moneyAt(thing, path, value)
  if (amount !== undefined || !Number.isSafeInteger(value)) return amount ?? exactNumber(value)
  if (hasMoneyAt(thing, path)) return `${value} in the smallest unit of its currency`
  return isTime(path.at(-1) ?? '', value) ? dayOf(value) : String(value)
}

const isTime = (name: string, value: number): boolean =>
  value > 1e9 &&
  value < 1e11 &&
  /(?:_at|due_by|_on|_end|_start|_date|_time|_until|^start|^end|^expires|^deadline|^timestamp)$/.test(name)

/** Fields that are in the rest of the message. */
const told: ReadonlySet<string> = new Set(
  (
    'customer customer_account metadata status name display_name code email description reason ' +
    'failure_message failure_reason number charge card billing_details'
  ).split(' '),
)
/** Fields that say nothing, and secrets. An address may give access to somebody's documents. */
const ignored = /^(?:id|object|created|updated|livemode|deleted|has_more|urls?)$|secret|pdf|_url$|_key$/

/**
 * The fields of an object that the preset has no words for, but not the amount that is in the head of the message. Texts
 * of Stripe, such as a `type`, stay as they are.
 */
export function otherFields(thing: Thing, amountField: string | undefined): string[] {
  const listed = listFields(thing, {
    labelOf: (path) => sentence(path.join(' ').replaceAll('_', ' ')),
    textOf: (value, path) => (path.join('.') === amountField ? '' : otherText(value, path, thing)),
  } satisfies FieldFormat)
  // Most amounts of Stripe are in cents, but not all of them.
  const isUnclear = thing.currency && !hasMoneyFields(thing) && listed.some((text) => /: -?\d+$/.test(text))
  return isUnclear ? [...listed, 'Numbers are as Stripe sent them: an amount may be in the smallest unit.'] : listed
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function otherText(value: unknown, path: readonly string[], thing: Thing): string | undefined {
  const name = path.at(-1)
  if (name === undefined) return undefined
  if (value === null || value === false || ignored.test(name) || (path.length === 1 && told.has(name))) return ''
  // With the amounts, unless their units are unknown.
  if (name === 'currency' && hasMoneyFields(thing)) return ''
  if (Array.isArray(value))
    return value
      .filter((each) => typeof each === 'string')
      .slice(0, 10)
      .map((each) => line(each, 50))
      .join(', ')
  // Below the second level, only amounts matter.
  if (typeof value === 'object') return path.length === 1 || hasMoneyAt(thing, path) ? undefined : ''
  return typeof value === 'string' ? line(value) : (fieldText(path, value, thing) ?? '')
}
