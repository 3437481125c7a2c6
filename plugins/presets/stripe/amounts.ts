// Which of the amounts of an object an event is about.
import { entryOf } from 'svc-gateway/kit'
import { moneyAt, valueAt } from './money-fields.ts'
import type { Payload, Thing } from './payload.ts'

/** By the type of the event: partial captures, refunds and payments have amounts of their own. */
const amounts: readonly (readonly [RegExp, string])[] = [
  [/^charge\.captured$/, 'amount_captured'],
  [/^(?:charge|application_fee)\.refunded$/, 'amount_refunded'],
  [/^transfer\.reversed$/, 'amount_reversed'],
  [/^payment_intent\.succeeded$/, 'amount_received'],
  [/^payment_intent\.amount_capturable_updated$/, 'amount_capturable'],
  [/^invoice\.(?:paid|payment_succeeded)$/, 'amount_paid'],
  [/^invoice\.(?:payment_failed|payment_action_required|overdue)$/, 'amount_remaining'],
  [/^invoice\.overpaid$/, 'amount_overpaid'],
  // The amount of the authorization is 0 until it is approved.
  [/^issuing_authorization\.request$/, 'pending_request.amount'],
]

/** By the type of the object: its amount, if it is not in one of the usual fields. */
const ownAmounts: Readonly<Record<string, readonly string[]>> = {
  'billing.credit_balance_transaction': ['credit.amount.monetary.value', 'debit.amount.monetary.value'],
  'billing.credit_grant': ['amount.monetary.value'],
  customer_cash_balance_transaction: ['net_amount'],
  invoice_payment: ['amount_paid', 'amount_requested'],
  payment_attempt_record: ['amount.value'],
  payment_record: ['amount.value'],
  shipping_rate: ['fixed_amount.amount'],
  sku: ['price'],
}

const usualAmounts = ['amount_total', 'amount_due', 'amount', 'unit_amount']

/** The field of the amount that the event is about; `undefined` if there is none. */
export function amountFieldOf({ type, data: { object: thing } }: Payload): string | undefined {
  const special = amounts.find(([pattern]) => pattern.test(type))?.[1]
  return [special, ...(entryOf(ownAmounts, thing.object) ?? usualAmounts)].find(
    (field) => field && moneyAt(thing, field.split('.')) !== undefined,
  )
}

export function amountOf(payload: Payload): string | undefined {
  const field = amountFieldOf(payload)
  if (field === undefined) return undefined
  const { object: thing, previous_attributes: before } = payload.data
  const path = field.split('.')
  // A refund adds to `amount_refunded`, which may hold earlier refunds already.
  const earlier = field === 'amount_refunded' || field === 'amount_reversed' ? numberOf(before?.[field]) : undefined
  return moneyAt(thing, path, (numberOf(valueAt(thing, path)) ?? 0) - (earlier ?? 0))
}

/** How much of an amount was refunded in total, and before this event. A transfer is reversed instead. */
export function refundedOf({ data: { object: thing, previous_attributes: before } }: Payload): string | undefined {
  const field = thing.amount_refunded ? 'amount_refunded' : 'amount_reversed'
  const part = thing[field] ? moneyAt(thing, [field]) : undefined
  if (part === undefined) return undefined
  const whole = moneyAt(thing, ['amount'])
  const earlier = numberOf(before?.[field])
  const known = earlier ? moneyAt(thing, [field], earlier) : undefined
  const sum = `${field === 'amount_refunded' ? 'Refunded' : 'Reversed'}: ${part}${whole ? ` of ${whole}` : ''}`
  return known ? `${sum}, ${known} before` : sum
}

/** What is still missing of a bank transfer that a customer has made in part. */
export function missingOf(thing: Thing): string | undefined {
  const missing = moneyAt(thing, ['next_action', 'display_bank_transfer_instructions', 'amount_remaining'])
  return missing && `Still to be paid: ${missing}`
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
