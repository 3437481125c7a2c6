// The preset for Shopify: orders, refunds, returns, disputes, customers …; one session per order, customer or product.
import { entryOf, eventMessage, line, plain, quote, words } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest } from 'svc-gateway/plugin'
import { factsOf, personName } from './facts.ts'
import { idOf, isIdLost, pageOf, type Subject, subjectOf, wrapped } from './ids.ts'
import { money } from './money.ts'
import { Payload } from './payload.ts'
import { scheme } from './scheme.ts'

const preset = definePreset<Payload>({
  name: 'shopify',
  description: 'Orders, refunds, returns, disputes, customers and products of Shopify.',
  payload: Payload,
  mapping: { name: 'Shopify' },
  auth: { scheme: 'shopify' },
  deliveryId,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

/** One action of a merchant may be one event with several topics and things. */
function deliveryId({ payload, headers }: PresetRequest<Payload>): string | undefined {
  const { 'x-shopify-event-id': event, 'x-shopify-webhook-id': webhook, 'x-shopify-topic': topic } = headers
  const id = idOf(payload)
  return event && (id || !webhook) ? [event, topic, id].join(' ') : webhook
}

/** Topics that are sent often, that another topic reports better, or that the agent itself may cause by reading. */
const silent = new RegExp(
  [
    String.raw`^(?:carts|checkouts|inventory_items|inventory_levels|themes|collections|locations|locales)/`,
    String.raw`^(?:bulk_operations|variants|profiles|metaobjects|product_feeds|audit_events)/`,
    String.raw`^(?:\w+_listings|\w+_publications)/`,
    String.raw`^(?:orders|products|customers|draft_orders|shop)/updated?$`,
    String.raw`^tender_transactions/|^customer\.(?:tags|joined|left)|^customers/(?:enable|disable)$`,
  ].join('|'),
)

function toAction({ payload, headers }: PresetRequest<Payload>) {
  const topic = headers['x-shopify-topic']
  if (!topic) throw new InputError('The header X-Shopify-Topic is missing; it names the event.')
  if (silent.test(topic) || isUneventful(topic, payload)) return null
  const shop = line(headers['x-shopify-shop-domain'], 100)
  const subject = subjectOf(topic.split('/', 1)[0] ?? '', payload)
  const page = topic.endsWith('/delete') ? undefined : pageOf(subject, payload)
  const message = eventMessage('Shopify', {
    head: headOf(topic, payload, subject),
    place: shop,
    details: [
      payload.test === true && 'This is a test: no real money.',
      ...factsOf(topic, payload),
      isIdLost(payload) && 'An id is left out here: the number in the webhook is too large to be read exactly.',
    ],
    link: shop && page && `https://${shop}/admin/${page}`,
    text: textOf(topic, payload),
  })
  return {
    message,
    sessionKey: ['hook:shopify:' + (shop || 'shop'), subject?.resource, subject?.id].filter(Boolean).join('/'),
  }
}

/** Payments and deliveries are reported when they fail. */
function isUneventful(topic: string, { status, shipment_status: shipment }: Payload): boolean {
  if (topic === 'order_transactions/create') return status !== 'failure' && status !== 'error'
  if (topic === 'fulfillments/update')
    return shipment !== 'failure' && !['failure', 'error', 'cancelled'].includes(status ?? '')
  return false
}

/** What somebody wrote. The message of a payment is the reason why it failed. */
const textOf = (topic: string, { note, message, order_edit: edit }: Payload): string | null | undefined =>
  note || edit?.staff_note || (topic.startsWith('order_transactions/') ? undefined : message)

// ── Head ────────────────────────────────────────────────────────────────────────────────────────

const things: Readonly<Record<string, string>> = {
  app_purchases_one_time: 'one-time purchase of the app',
  companies: 'company',
  customer_account_settings: 'settings of customer accounts',
  customers_email_marketing_consent: 'consent of a customer to marketing by email',
  customers_marketing_consent: 'consent of a customer to marketing by SMS',
  delivery_promise_settings: 'settings of delivery promises',
  fulfillment_events: 'shipment',
  order_transactions: 'payment',
  payment_terms: 'payment terms',
  reverse_deliveries: 'reverse delivery',
}

const verbs: Readonly<Record<string, string>> = {
  activate: 'was activated',
  added: 'was added',
  approve: 'was approved',
  assign: 'was assigned',
  cancel: 'was cancelled',
  cancelled: 'was cancelled',
  challenged: 'needs a confirmation by the customer',
  close: 'was closed',
  complete: 'was completed',
  create: 'was created',
  decline: 'was declined',
  delete: 'was deleted',
  destroy: 'was deleted',
  due: 'is due',
  edited: 'was edited',
  expire: 'has expired',
  fail: 'failed',
  failure: 'failed',
  fulfilled: 'was fulfilled',
  mark_in_transit: 'is in transit',
  merged: 'was merged',
  moved: 'was moved',
  paid: 'was paid',
  partially_fulfilled: 'was partially fulfilled',
  pause: 'was paused',
  placed_on_hold: 'was put on hold',
  process: 'was processed',
  released: 'was released',
  reopen: 'was reopened',
  request: 'was requested',
  rescheduled: 'was rescheduled',
  revoke: 'was revoked',
  skip: 'was skipped',
  split: 'was split',
  success: 'succeeded',
  update: 'was changed',
  updated: 'was changed',
}

/** Topics whose words do not say what happened. */
const sentences: Readonly<Record<string, string>> = {
  'app/uninstalled': 'the app was uninstalled',
  'customers/data_request': 'a customer asks for their data',
  'customers/redact': "a customer's data must be deleted",
  'fulfillment_events/delete': 'a status of a shipment was deleted',
  'shop/redact': "the shop's data must be deleted",
}

/** `order #1001 was created, 199.00 USD`, or for a rarer event `fulfillment order 7: hold released`. */
function headOf(topic: string, payload: Payload, subject: Subject | undefined): string {
  const sentence = entryOf(sentences, topic)
  if (sentence !== undefined) return sentence
  const [resource = '', event = ''] = topic.split(/[/.]/)
  const kind = entryOf(things, resource) ?? plain(resource).replace(/s$/, '')
  const title = titleOf(payload) || (subject?.resource === resource ? subject.id : idOf(payload))
  const total = moneyOf(payload)
  const status = resource === 'fulfillment_events' ? plain(payload.status) : plain(event)
  const verb = verbOf(topic, event, payload)
  return `${words(kind, title)}${verb ? ` ${verb}` : `: ${status}`}${total ? `, ${total}` : ''}`
}

const titleOf = (payload: Payload): string =>
  line(payload.name, 100) || quote(payload.title) || line(personName(payload), 100) || quote(wrapped(payload)?.name)

function verbOf(topic: string, event: string, { status, shipment_status: shipment }: Payload): string | undefined {
  if (topic === 'customers/merge') return status === 'failed' ? 'could not be merged' : 'was merged with another one'
  if (topic === 'order_transactions/create') return 'failed'
  if (topic === 'fulfillments/update')
    return status === 'cancelled' && shipment !== 'failure' ? 'was cancelled' : 'failed'
  return topic === 'fulfillment_events/create' ? undefined : entryOf(verbs, event)
}

/** A refund has the amounts in its transactions. */
function moneyOf({ total_price: total, amount, currency, transactions }: Payload): string | undefined {
  if (!transactions?.length) return money(total ?? amount, currency)
  const refunded = transactions.filter(({ kind, status }) => kind === 'refund' && (status ?? 'success') === 'success')
  const sum = refunded.reduce((whole, one) => whole + Number(one.amount), 0)
  return refunded.length > 0 ? money(sum, refunded[0]?.currency) : undefined
}
