// What somebody pays with, and what is taken off the price or added to it.
import { line, words } from 'svc-gateway/kit'
import { dayOf } from './day.ts'
import { money } from './money.ts'
import type { Coupon, Instrument, Thing } from './payload.ts'

/** A card or an account of a bank: `visa, ending in 4242, expires 08/2030`. */
export function instrumentText(thing: Thing): string | undefined {
  const details = thing.payment_method_details ?? thing
  const isItself = thing.object === 'card' || thing.object === 'bank_account'
  const found = isItself ? thing : Object.values(details).find(isInstrument)
  const { brand, bank_name: bank, last4, exp_month: month, exp_year: year } = found ?? {}
  const kind = line(details.type, 50).replaceAll('_', ' ')
  const name =
    line(brand || bank, 100) || (found || thing.object === 'payment_method' || thing.object === 'source' ? kind : '')
  const expiry = month && year ? `expires ${String(month).padStart(2, '0')}/${year}` : undefined
  const text = [name, last4 && `ending in ${line(last4, 20)}`, expiry].filter(Boolean).join(', ')
  return text ? `Payment method: ${text}` : undefined
}

const isInstrument = (value: unknown): value is Instrument =>
  typeof value === 'object' && value !== null && typeof (value as Instrument).last4 === 'string'

/** The discount of a coupon, a promotion code or a customer: `25 % for 3 months`. */
export function discountText(thing: Thing): string | undefined {
  const coupon = couponOf(thing)
  if (typeof coupon === 'string') return `Coupon: ${coupon}`
  if (!coupon) return undefined
  const { percent_off: percent, amount_off: amount, duration, duration_in_months: months } = coupon
  const size =
    typeof percent === 'number' ? `${percent} %` : typeof amount === 'number' ? money(amount, coupon.currency) : ''
  const time =
    duration === 'repeating' && months ? `for ${months} ${months === 1 ? 'month' : 'months'}` : line(duration, 20)
  const name = coupon === thing ? '' : line(coupon.name || coupon.id, 100)
  return size
    ? `Discount: ${words(size, time, name && `(${name})`, thing.end ? `until ${dayOf(thing.end)}` : '')}`
    : undefined
}

function couponOf(thing: Thing): Coupon | string | null | undefined {
  if (thing.object === 'coupon') return thing
  const isOfCoupon = thing.object === 'discount' || thing.object === 'promotion_code'
  return isOfCoupon ? (thing.coupon ?? thing.source?.coupon ?? thing.promotion?.coupon) : undefined
}

/** `19 % included in the price, DE`. */
export function taxText({ object, percentage, inclusive, jurisdiction, country }: Thing): string | undefined {
  if (object !== 'tax_rate' || typeof percentage !== 'number') return undefined
  const where = line(jurisdiction || country, 50)
  return `Tax: ${percentage} % ${inclusive ? 'included in' : 'added to'} the price${where && `, ${where}`}`
}
