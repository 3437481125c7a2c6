// Which of the amounts of an object an event is about.
import { money } from './money.ts'
import type { Payload, Thing } from './payload.ts'

/** By the type of the event: partial captures, refunds and payments have amounts of their own. */
const amounts: readonly (readonly [RegExp, keyof Thing])[] = [
  [/^charge\.captured$/, 'amount_captured'],
  [/^(?:charge|application_fee)\.refunded$/, 'amount_refunded'],
  [/^transfer\.reversed$/, 'amount_reversed'],
  [/^payment_intent\.succeeded$/, 'amount_received'],
  [/^payment_intent\.amount_capturable_updated$/, 'amount_capturable'],
  [/^invoice\.(?:paid|payment_succeeded)$/, 'amount_paid'],
  [/^invoice\.(?:payment_failed|payment_action_required|overdue)$/, 'amount_remaining'],
]

export function amountOf({ type, data: { object: thing, previous_attributes: before } }: Payload): string | undefined {
  const field = amounts.find(([pattern]) => pattern.test(type))?.[1]
  const own = field && numberOf(thing[field])
  const general = [thing.amount_total, thing.amount_due, thing.amount, thing.unit_amount].map(numberOf)
  const amount = own ?? general.find((value) => value !== undefined)
  // A refund adds to `amount_refunded`, which may hold earlier refunds already.
  const earlier = field === 'amount_refunded' || field === 'amount_reversed' ? numberOf(before?.[field]) : undefined
  return money(amount === undefined ? undefined : amount - (earlier ?? 0), thing.currency, thing.object)
}

/** How much of an amount was refunded in total, and before this event. A transfer is reversed instead. */
export function refundedOf({ data: { object: thing, previous_attributes: before } }: Payload): string | undefined {
  const [refunded, reversed] = [numberOf(thing.amount_refunded), numberOf(thing.amount_reversed)]
  const part = money(refunded || reversed, thing.currency)
  const whole = money(numberOf(thing.amount), thing.currency)
  if (!part || !(refunded || reversed)) return undefined
  const earlier = numberOf(before?.[refunded ? 'amount_refunded' : 'amount_reversed'])
  const known = earlier && money(earlier, thing.currency)
  return `${refunded ? 'Refunded' : 'Reversed'}: ${part}${whole ? ` of ${whole}` : ''}${known ? `, ${known} before` : ''}`
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
