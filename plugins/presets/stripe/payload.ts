// The fields that are read of Stripe's events; all other fields are ignored.
import { Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Numeral = Maybe(Type.Number())
const Flag = Maybe(Type.Boolean())
/** An amount. In some objects it is an object of several amounts, which is not read. */
const Amount = Maybe(Type.Union([Type.Number(), Type.Object({})]))
const Failure = Maybe(Type.Object({ message: Text }))
const Buyer = Maybe(Type.Object({ name: Text, email: Text, phone: Text }))
const Price = Type.Object({
  nickname: Text,
  currency: Text,
  unit_amount: Numeral,
  amount: Numeral,
  interval: Text,
  interval_count: Numeral,
  recurring: Maybe(Type.Object({ interval: Text, interval_count: Numeral })),
})
/** An id, if it was not expanded. */
const PriceOrId = Maybe(Type.Union([Type.String(), Price]))
/** A card, or an account of a bank. */
const Instrument = Type.Object({
  brand: Text,
  bank_name: Text,
  last4: Text,
  exp_month: Numeral,
  exp_year: Numeral,
})
/** What somebody pays with: the details are in the field that bears the name of the type. */
const instruments = {
  type: Text,
  card: Maybe(Instrument),
  card_present: Maybe(Instrument),
  us_bank_account: Maybe(Instrument),
  ach_debit: Maybe(Instrument),
  acss_debit: Maybe(Instrument),
  au_becs_debit: Maybe(Instrument),
  bacs_debit: Maybe(Instrument),
  sepa_debit: Maybe(Instrument),
}
const Coupon = Type.Object({
  id: Text,
  name: Text,
  percent_off: Numeral,
  amount_off: Maybe(Type.Union([Type.Number(), Type.Object({})])),
  currency: Text,
  duration: Text,
  duration_in_months: Numeral,
})
const CouponOrId = Maybe(Type.Union([Type.String(), Coupon]))
const Item = Type.Object({ price: PriceOrId, plan: PriceOrId, quantity: Numeral, current_period_end: Numeral })
export const Thing = Type.Object({
  id: Text,
  object: Text,
  amount: Amount,
  amount_total: Amount,
  amount_due: Amount,
  amount_paid: Amount,
  amount_remaining: Amount,
  amount_captured: Amount,
  amount_received: Amount,
  amount_capturable: Amount,
  amount_refunded: Amount,
  amount_reversed: Amount,
  amount_off: Amount,
  unit_amount: Amount,
  percent_off: Numeral,
  duration: Text,
  duration_in_months: Numeral,
  // The coupon of a discount or promotion code; newer versions of the API have it in `source` or `promotion`.
  coupon: CouponOrId,
  source: Maybe(Type.Object({ coupon: CouponOrId })),
  promotion: Maybe(Type.Object({ coupon: CouponOrId })),
  end: Numeral,
  percentage: Numeral,
  inclusive: Flag,
  country: Text,
  jurisdiction: Text,
  ...instruments,
  ...Instrument.properties,
  payment_method_details: Maybe(Type.Object(instruments)),
  owner: Buyer,
  url: Text,
  active: Flag,
  currency: Text,
  // An id, or a customer object if it was expanded.
  customer: Type.Optional(Type.Unknown()),
  customer_email: Text,
  customer_name: Text,
  customer_details: Buyer,
  billing_details: Buyer,
  email: Text,
  receipt_email: Text,
  name: Text,
  display_name: Text,
  code: Text,
  description: Text,
  status: Text,
  payment_status: Text,
  captured: Flag,
  reason: Text,
  failure_reason: Text,
  fraud_type: Text,
  // The charge of a refund, dispute or warning: an id, or an object if it was expanded.
  charge: Type.Optional(Type.Unknown()),
  number: Type.Optional(Type.Unknown()),
  // The account that gets a transfer or payout: likewise.
  destination: Type.Optional(Type.Unknown()),
  failure_message: Text,
  last_payment_error: Failure,
  last_setup_error: Failure,
  outcome: Maybe(Type.Object({ seller_message: Text })),
  evidence_details: Maybe(Type.Object({ due_by: Numeral })),
  arrival_date: Numeral,
  cancel_at_period_end: Flag,
  cancel_at: Numeral,
  current_period_end: Numeral,
  ended_at: Numeral,
  trial_end: Numeral,
  items: Maybe(Type.Object({ data: Maybe(Type.Array(Item)) })),
  recurring: Maybe(Type.Object({ interval: Text, interval_count: Numeral })),
  interval: Text,
  interval_count: Numeral,
  hosted_invoice_url: Text,
})
export type Thing = Static<typeof Thing>
export type Instrument = Static<typeof Instrument>
export type Coupon = Static<typeof Coupon>
export type Price = Static<typeof Price>
export type Item = Static<typeof Item>

export const Payload = Type.Object({
  id: Type.String({ minLength: 1 }),
  object: Type.Optional(Type.String()),
  type: Type.String({ minLength: 1 }),
  livemode: Type.Optional(Type.Boolean()),
  account: Text,
  data: Type.Object({
    object: Thing,
    /** The earlier values of the fields that changed. */
    previous_attributes: Maybe(Type.Record(Type.String(), Type.Unknown())),
  }),
})
export type Payload = Static<typeof Payload>
