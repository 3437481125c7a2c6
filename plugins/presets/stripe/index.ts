// The preset for Stripe: payments, subscriptions, invoices, disputes; one session per customer.
import { clip, lines, quote, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest } from 'svc-gateway/plugin'
import { amountOf, refundedOf } from './amounts.ts'
import { dayOf } from './day.ts'
import { Payload, type Thing } from './payload.ts'
import { priceText, subscriptionStatus } from './subscription.ts'

export default definePreset<Payload>({
  name: 'stripe',
  description: 'Payments, subscriptions and invoices of Stripe.',
  payload: Payload,
  mapping: { name: 'Stripe' },
  auth: { scheme: 'stripe' },
  deliveryId: ({ payload: { id, type } }) => `${id} ${type}`,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** Events that another event summarizes, and internal changes. */
const silent = new RegExp(
  [
    String.raw`^payment_intent\.(?:created|processing)$`,
    String.raw`^charge\.(?:pending|updated)$`,
    String.raw`^invoice\.(?:created|updated|finalized|sent)$`,
    String.raw`^(?:setup_intent\.created|customer\.updated|balance\.available)$`,
    String.raw`^(?:invoiceitem|billing_portal)\.`,
    String.raw`\.(?:draft|upcoming)$`,
  ].join('|'),
)

function toAction({ payload }: PresetRequest<Payload>) {
  const { type, livemode, data, account } = payload
  if (silent.test(type)) return null
  const owner = customerOf(data.object) ?? account ?? (livemode === false ? 'test' : 'live')
  return { message: messageOf(payload), sessionKey: `hook:stripe:${owner}` }
}

function messageOf(payload: Payload): string {
  const { id, type, livemode, account, data } = payload
  const thing = data.object
  const amount = amountOf(payload)
  const buyer = buyerOf(thing)
  const failure = thing.failure_message || thing.last_payment_error?.message || thing.last_setup_error?.message
  const reason = failure || thing.failure_reason || thing.reason || thing.fraud_type
  return lines(
    `Stripe: ${type.replaceAll(/[._]+/g, ' ')}${amount ? `, ${amount}` : ''}`,
    livemode === false && 'This is a test: no real money.',
    buyer && `Customer: ${buyer}`,
    ...labelsOf(thing),
    statusOf(thing),
    refundedOf(thing),
    type.endsWith('.updated') && changesOf(payload),
    priceText(thing),
    reason && `Reason: ${clip(plain(reason), 500)}`,
    thing.evidence_details?.due_by ? `Evidence due: ${dayOf(thing.evidence_details.due_by)}` : undefined,
    thing.object === 'payout' && thing.arrival_date ? `Arrives: ${dayOf(thing.arrival_date)}` : undefined,
    thing.description && `For: ${clip(thing.description, 500)}`,
    typeof thing.number === 'string' && thing.number && `Number: ${thing.number}`,
    account && `Account: ${account}`,
    words('Object:', thing.object ?? 'object', thing.id),
    typeof thing.charge === 'string' && thing.charge && `Charge: ${thing.charge}`,
    thing.hosted_invoice_url ?? `https://dashboard.stripe.com/${livemode === false ? 'test/' : ''}events/${id}`,
  )
}

function customerOf({ id, object, customer }: Thing): string | undefined {
  if (object === 'customer') return id ?? undefined
  const found = typeof customer === 'object' && customer !== null ? (customer as { id?: unknown }).id : customer
  return typeof found === 'string' && found ? found : undefined
}

/** Who buys. `name` and `email` are those of a customer only in the object `customer`. */
function buyerOf(thing: Thing): string {
  const { customer_details: details, billing_details: billing } = thing
  const self = thing.object === 'customer' ? thing : undefined
  const name = self?.name || details?.name || thing.customer_name || billing?.name
  const email = self?.email || details?.email || thing.customer_email || billing?.email || thing.receipt_email
  return [name, email, customerOf(thing)].filter(Boolean).join(', ')
}

/** The name of a product, coupon, promotion code, account … */
const labelsOf = ({ object, name, code, email }: Thing): (string | false | null | undefined)[] =>
  object === 'customer' ? [] : [name && `Name: ${name}`, code && `Code: ${code}`, email && `Email: ${email}`]

/** A charge can succeed without being captured, and a checkout can be complete before it is paid. */
function statusOf(thing: Thing): string | undefined {
  const status = thing.object === 'subscription' ? subscriptionStatus(thing) : thing.status
  const more = thing.object === 'charge' && thing.captured === false && thing.status === 'succeeded' && 'not captured'
  const all = [status, more, thing.payment_status].filter(Boolean).join(', ')
  return all ? `Status: ${plain(all)}` : undefined
}

/** Stripe writes its own words with underscores; other texts stay as they are. */
const plain = (text: string): string => (/^[a-z_, ]+$/.test(text) ? text.replaceAll('_', ' ') : text)

const mostChanges = 10

/** The fields that an update changed, with their earlier values if these are short. */
function changesOf({ data: { previous_attributes: before } }: Payload): string | undefined {
  const changed = Object.entries(before ?? {}).slice(0, mostChanges)
  if (changed.length === 0) return undefined
  const named = changed.map(([name, value]) => {
    const earlier = typeof value === 'string' && value.length <= 50 ? quote(value) : value === true ? 'yes' : ''
    return `${name.replaceAll('_', ' ')}${earlier && ` (was ${earlier})`}`
  })
  return `Changed: ${named.join(', ')}`
}
