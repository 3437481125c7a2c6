// The preset for Stripe: payments, subscriptions, invoices, disputes; one session per customer.
import { eventMessage, line, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest } from 'svc-gateway/plugin'
import { amountFieldOf, amountOf, missingOf, refundedOf } from './amounts.ts'
import { changesOf, otherFields } from './changes.ts'
import { dayOf } from './day.ts'
import { discountText, instrumentText, taxText } from './instrument.ts'
import { Payload, type Thing } from './payload.ts'
import { scheme } from './scheme.ts'
import { priceText, subscriptionStatus } from './subscription.ts'

const preset = definePreset<Payload>({
  name: 'stripe',
  description: 'Payments, subscriptions and invoices of Stripe.',
  payload: Payload,
  mapping: { name: 'Stripe' },
  auth: { scheme: 'stripe' },
  deliveryId: ({ payload: { id, type } }) => `${id} ${type}`,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

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
  const owner = customerOf(data.object) || line(account, 200) || (livemode === false ? 'test' : 'live')
  return { message: messageOf(payload), sessionKey: `hook:stripe:${owner}` }
}

function messageOf(payload: Payload): string {
  const { id, type, livemode, account, data } = payload
  const thing = data.object
  const amount = amountOf(payload)
  const buyer = buyerOf(thing)
  const failure = thing.failure_message || thing.last_payment_error?.message || thing.last_setup_error?.message
  const reason = failure || thing.failure_reason || thing.reason || thing.fraud_type
  const event = encodeURIComponent(line(id, 200))
  return eventMessage('Stripe', {
    head: `${type.replaceAll(/[._]+/g, ' ')}${amount ? `, ${amount}` : ''}`,
    details: [
      livemode === false && 'This is a test: no real money.',
      buyer && `Customer: ${buyer}`,
      ...labelsOf(thing),
      statusOf(thing),
      refundedOf(payload),
      missingOf(thing),
      type.endsWith('updated') && changesOf(payload),
      priceText(thing),
      instrumentText(thing),
      discountText(thing),
      taxText(thing),
      reason && `Reason: ${plain(reason)}`,
      thing.evidence_details?.due_by ? `Evidence due: ${dayOf(thing.evidence_details.due_by)}` : undefined,
      thing.object === 'payout' && thing.arrival_date ? `Arrives: ${dayOf(thing.arrival_date)}` : undefined,
      typeof thing.destination === 'string' && thing.destination && `To: ${thing.destination}`,
      thing.object === 'payment_link' && words('Address:', thing.url, thing.active === false && '(not active)'),
      thing.description && `For: ${thing.description}`,
      typeof thing.number === 'string' && thing.number && `Number: ${thing.number}`,
      ...(described.has(thing.object ?? '') ? [] : otherFields(thing, amountFieldOf(payload))),
      account && `Account: ${account}`,
      words('Object:', thing.object ?? 'object', thing.id),
      typeof thing.charge === 'string' && thing.charge && `Charge: ${thing.charge}`,
    ],
    link:
      thing.hosted_invoice_url ?? `https://dashboard.stripe.com/${livemode === false ? 'test/' : ''}events/${event}`,
  })
}

/** Objects of which the message has all that matters. Of others, all fields are listed. */
const described: ReadonlySet<string> = new Set(
  (
    'account application_fee bank_account card charge checkout.session coupon customer discount dispute invoice ' +
    'payment_intent payment_link payment_method payout plan price product promotion_code radar.early_fraud_warning ' +
    'refund setup_intent source subscription tax_rate transfer'
  ).split(' '),
)

function customerOf({ id, object, customer }: Thing): string | undefined {
  if (object === 'customer') return line(id, 200) || undefined
  const found = typeof customer === 'object' && customer !== null ? (customer as { id?: unknown }).id : customer
  return typeof found === 'string' ? line(found, 200) || undefined : undefined
}

/** Who buys. `name` and `email` are those of a customer only in the object `customer`. */
function buyerOf(thing: Thing): string {
  const { customer_details: details } = thing
  const billing = thing.billing_details ?? thing.owner
  const self = thing.object === 'customer' ? thing : undefined
  const name = self?.name || details?.name || thing.customer_name || billing?.name
  const email = self?.email || details?.email || thing.customer_email || billing?.email || thing.receipt_email
  return [line(name, 100), line(email, 100), customerOf(thing)].filter(Boolean).join(', ')
}

/** The name of a product, coupon, promotion code, account … */
const labelsOf = ({ object, name, display_name: shown, code, email }: Thing): (string | false | null | undefined)[] =>
  object === 'customer'
    ? []
    : [(name || shown) && `Name: ${name || shown}`, code && `Code: ${code}`, email && `Email: ${email}`]

/** A charge can succeed without being captured, and a checkout can be complete before it is paid. */
function statusOf(thing: Thing): string | undefined {
  const status = thing.object === 'subscription' ? subscriptionStatus(thing) : thing.status
  const more = thing.object === 'charge' && thing.captured === false && thing.status === 'succeeded' && 'not captured'
  const all = [status, more, thing.payment_status].filter(Boolean).join(', ')
  return all ? `Status: ${plain(all)}` : undefined
}

/** Stripe writes its own words with underscores; other texts stay as they are. */
const plain = (text: string): string => (/^[a-z_, ]+$/.test(text) ? text.replaceAll('_', ' ') : text)
