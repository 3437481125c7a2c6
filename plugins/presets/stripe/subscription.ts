// The state of subscriptions, and what they cost.
import { line, words } from 'svc-gateway/kit'
import { dayOf } from './day.ts'
import { money } from './money.ts'
import type { Item, Price, Thing } from './payload.ts'

/** A subscription that was cancelled stays active until its end. */
export function subscriptionStatus(thing: Thing): string {
  const { status, cancel_at: cancelAt, cancel_at_period_end: atPeriodEnd, ended_at: ended, trial_end: trialEnd } = thing
  const periodEnd = thing.current_period_end ?? itemsOf(thing)[0]?.current_period_end
  const end = cancelAt ?? (atPeriodEnd ? periodEnd : undefined)
  const isOver = status === 'canceled' || status === 'incomplete_expired' || Boolean(ended)
  const ending =
    !isOver && (end ? `cancelled, ends on ${dayOf(end)}` : atPeriodEnd && 'cancelled, ends with its period')
  return [
    status,
    ending,
    status === 'trialing' && !ending && trialEnd && `trial ends on ${dayOf(trialEnd)}`,
    isOver && ended && `ended on ${dayOf(ended)}`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** One line for each price. */
export function priceText(thing: Thing): string | undefined {
  const texts = itemsOf(thing).map((item) => {
    const price = expanded(item.price) ?? expanded(item.plan)
    return words(
      line(price?.nickname, 100),
      price && describePrice(price),
      item.quantity && item.quantity !== 1 ? `× ${item.quantity}` : '',
    )
  })
  const own = thing.object === 'price' || thing.object === 'plan' ? every(thing) : undefined
  const text = texts.filter(Boolean).slice(0, 10).join('; ')
  if (text) return `Price: ${text}`
  return own ? `Billed: ${own}` : undefined
}

const expanded = (price: Item['price']): Price | undefined => (typeof price === 'object' && price ? price : undefined)

const describePrice = (price: Price): string =>
  words(money(price.unit_amount ?? price.amount, price.currency), every(price))

/** `per month`, or `every 3 months`. */
function every({ recurring, ...flat }: Pick<Price, 'recurring' | 'interval' | 'interval_count'>): string {
  const { interval, interval_count: count } = recurring ?? flat
  const unit = line(interval, 20)
  if (!unit) return ''
  return count && count > 1 ? `every ${count} ${unit}s` : `per ${unit}`
}

/** Other objects have an unrelated field `items`. */
const itemsOf = ({ object, items }: Thing): readonly Item[] => (object === 'subscription' ? (items?.data ?? []) : [])
