// The amounts of Stripe's objects, as its API documents them. A number that is not listed here is not shown as money.
import { entryOf, fieldsOf } from 'svc-gateway/kit'
import { money } from './money.ts'
import type { Thing } from './payload.ts'

const taxed = (field: string): string => `${field}.amount_subtotal ${field}.amount_tax ${field}.amount_total`
const details = 'total_details.amount_discount total_details.amount_shipping total_details.amount_tax'
const presented = 'presentment_details.presentment_amount:presentment_details.presentment_currency'
const record = ['', '_authorized', '_canceled', '_failed', '_guaranteed', '_refunded', '_requested']
  .map((suffix) => `amount${suffix}.value`)
  .join(' ')
const impact = 'balance_impact.cash balance_impact.inbound_pending balance_impact.outbound_pending'

/**
 * By the type of the object: the paths of its amounts. The currency is the field `currency` beside the amount or of the
 * object, unless another path follows after a colon. A star is a field that bears the name of the currency.
 */
const moneyFields: Readonly<Record<string, string>> = {
  application_fee: 'amount amount_refunded',
  balance_transaction: 'amount fee net',
  'billing.credit_balance_transaction': 'credit.amount.monetary.value debit.amount.monetary.value',
  'billing.credit_grant': 'amount.monetary.value',
  bitcoin_receiver: 'amount amount_received',
  cash_balance: 'available.*',
  charge: `amount amount_captured amount_refunded application_fee_amount transfer_data.amount ${presented}`,
  'checkout.session':
    `amount_subtotal amount_total ${taxed('shipping_cost')} ${details} ${presented} ` +
    'currency_conversion.amount_subtotal:currency_conversion.source_currency ' +
    'currency_conversion.amount_total:currency_conversion.source_currency',
  'climate.order': 'amount_fees amount_subtotal amount_total',
  'climate.product': ['amount_fees', 'amount_subtotal', 'amount_total']
    .map((field) => `current_prices_per_metric_ton.*.${field}`)
    .join(' '),
  connect_collection_transfer: 'amount',
  coupon: 'amount_off',
  credit_note:
    'amount amount_shipping discount_amount out_of_band_amount post_payment_amount pre_payment_amount subtotal ' +
    `subtotal_excluding_tax total total_excluding_tax ${taxed('shipping_cost')}`,
  credit_note_line_item: 'amount discount_amount unit_amount',
  customer: 'balance account_balance invoice_credit_balance.*',
  customer_balance_transaction: 'amount ending_balance',
  customer_cash_balance_transaction: 'net_amount ending_balance',
  dispute: 'amount',
  fee_refund: 'amount',
  'financial_connections.account': 'balance.current.* balance.cash.available.* balance.credit.used.*',
  'financial_connections.transaction': 'amount',
  invoice:
    'amount_due amount_overpaid amount_paid amount_paid_off_stripe amount_remaining amount_shipping ' +
    'application_fee_amount ending_balance post_payment_credit_notes_amount pre_payment_credit_notes_amount ' +
    'starting_balance subtotal subtotal_excluding_tax tax total total_excluding_tax ' +
    `transfer_data.amount ${taxed('shipping_cost')}`,
  invoice_payment: 'amount_paid amount_requested',
  invoiceitem: 'amount net_amount unit_amount',
  'issuing.authorization':
    'amount amount_details.atm_fee amount_details.cashback_amount merchant_amount:merchant_currency ' +
    'pending_request.amount pending_request.merchant_amount:pending_request.merchant_currency',
  // The limits of a card are lists.
  'issuing.card': '',
  'issuing.dispute': 'amount',
  'issuing.settlement':
    'interchange_fees_amount net_total_amount network_fees_amount other_fees_amount transaction_amount',
  'issuing.transaction':
    'amount amount_details.atm_fee amount_details.cashback_amount merchant_amount:merchant_currency',
  item: 'amount_discount amount_subtotal amount_tax amount_total',
  line_item: 'amount subtotal',
  mandate: 'multi_use.amount single_use.amount',
  order: `amount amount_returned amount_subtotal amount_total application_fee ${details}`,
  order_return: 'amount',
  payment_attempt_record: record,
  payment_intent:
    `amount amount_capturable amount_received application_fee_amount transfer_data.amount ${presented} ` +
    'next_action.display_bank_transfer_instructions.amount_remaining',
  payment_link: 'application_fee_amount transfer_data.amount',
  payment_record: record,
  payout: 'amount application_fee_amount',
  plan: 'amount',
  price: 'unit_amount custom_unit_amount.maximum custom_unit_amount.minimum custom_unit_amount.preset',
  promotion_code: 'restrictions.minimum_amount:restrictions.minimum_amount_currency',
  quote: `amount_subtotal amount_total application_fee_amount transfer_data.amount ${details}`,
  'radar.payment_evaluation': 'payment_details.amount',
  refund: `amount ${presented}`,
  'reserve.hold': 'amount amount_releasable',
  'reserve.release': 'amount',
  reserve_transaction: 'amount',
  shipping_rate: 'fixed_amount.amount fixed_amount.currency_options.*.amount',
  sku: 'price',
  source: 'amount receiver.amount_charged receiver.amount_received receiver.amount_returned',
  source_mandate_notification: 'amount:source.currency',
  source_transaction: 'amount',
  'tax.calculation_line_item': 'amount amount_tax',
  'tax.transaction_line_item': 'amount amount_tax',
  'tax.calculation':
    'amount_total tax_amount_exclusive tax_amount_inclusive shipping_cost.amount shipping_cost.amount_tax',
  'tax.transaction': 'shipping_cost.amount shipping_cost.amount_tax',
  tax_rate: 'flat_amount.amount',
  three_d_secure: 'amount',
  'three_d_secure.authentication': 'amount',
  topup: 'amount',
  transfer: 'amount amount_reversed',
  transfer_reversal: 'amount',
  'treasury.credit_reversal': 'amount',
  'treasury.debit_reversal': 'amount',
  'treasury.financial_account': ['cash', 'inbound_pending', 'outbound_pending']
    .map((field) => `balance.${field}.*`)
    .join(' '),
  'treasury.inbound_transfer': 'amount',
  'treasury.outbound_payment': 'amount',
  'treasury.outbound_transfer': 'amount',
  'treasury.received_credit': 'amount',
  'treasury.received_debit': 'amount',
  'treasury.transaction': `amount ${impact}`,
  'treasury.transaction_entry': impact,
}

type Path = readonly string[]

/**
 * Writes a number as money, if the API documents it as an amount. `undefined` if it does not. Of an object within the
 * object, such as the price of an item, its own type counts.
 */
export function moneyAt(thing: Thing, path: Path, value: unknown = valueAt(thing, path)): string | undefined {
  const [owner, inner] = ownerOf(thing, path)
  const field = fieldsOfType(owner).find((each) => isAt(each, inner))
  if (field === undefined || typeof value !== 'number') return undefined
  return money(value, currencyOf(owner, inner, field), owner.object)
}

/** Whether the API documents an amount at a path or below it. */
export function hasMoneyAt(thing: Thing, path: Path): boolean {
  const [owner, inner] = ownerOf(thing, path)
  return fieldsOfType(owner).some((field) => isAt(field.split('.').slice(0, inner.length).join('.'), inner))
}

/** The innermost object with a type of its own that contains the field, and the path within it. */
function ownerOf(thing: Thing, path: Path): [owner: Thing, inner: Path] {
  for (let length = path.length - 1; length > 0; length -= 1) {
    const owner = fieldsOf(valueAt(thing, path.slice(0, length)))
    if (typeof owner['object'] === 'string') return [owner, path.slice(length)]
  }
  return [thing, path]
}

const fieldsOfType = ({ object }: Thing): string[] => entryOf(moneyFields, object)?.split(' ') ?? []

/** Whether the amounts of this type of object are known. */
export const hasMoneyFields = ({ object }: Thing): boolean => entryOf(moneyFields, object) !== undefined

function isAt(field: string, path: Path): boolean {
  const names = (field.split(':', 1)[0] ?? '').split('.')
  return names.length === path.length && names.every((name, index) => name === '*' || name === path[index])
}

function currencyOf(thing: Thing, path: Path, field: string): string | undefined {
  const [names = '', currency] = field.split(':')
  if (currency) return textAt(thing, currency.split('.'))
  const star = names.split('.').indexOf('*')
  return star >= 0 ? path[star] : (textAt(thing, [...path.slice(0, -1), 'currency']) ?? thing.currency ?? undefined)
}

function textAt(thing: Thing, path: Path): string | undefined {
  const value = valueAt(thing, path)
  return typeof value === 'string' ? value : undefined
}

/** The value of a field of a field … */
export const valueAt = (thing: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (value, name) => (Object.hasOwn(fieldsOf(value), name) ? fieldsOf(value)[name] : undefined),
    thing,
  )
