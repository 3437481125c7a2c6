// The preset for Shopify: orders, refunds, disputes, customers, products; one session per order, customer or product.
import { clip, entryOf, lines, Maybe } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Id = Maybe(Type.Union([Type.String(), Type.Number()]))

const Payload = Type.Object({
  id: Id,
  admin_graphql_api_id: Text,
  name: Text,
  title: Text,
  order_id: Id,
  test: Maybe(Type.Boolean()),
  currency: Text,
  total_price: Id,
  amount: Id,
  financial_status: Text,
  fulfillment_status: Text,
  cancel_reason: Text,
  status: Text,
  shipment_status: Text,
  reason: Text,
  kind: Text,
  message: Text,
  note: Text,
  email: Text,
  contact_email: Text,
  first_name: Text,
  last_name: Text,
  evidence_due_by: Text,
  tracking_company: Text,
  tracking_url: Text,
  customer: Maybe(Type.Object({ first_name: Text, last_name: Text, email: Text })),
  line_items: Maybe(Type.Array(Type.Object({ quantity: Maybe(Type.Number()), title: Text, name: Text }))),
  transactions: Maybe(Type.Array(Type.Object({ amount: Id, currency: Text, kind: Text, status: Text }))),
})
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'shopify',
  description: 'Orders, refunds, disputes, customers and products of Shopify.',
  payload: Payload,
  mapping: { name: 'Shopify' },
  auth: { scheme: 'shopify' },
  deliveryId,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** One action of a merchant may be one event with several topics and things. */
function deliveryId({ payload, headers }: PresetRequest<Payload>): string | undefined {
  const event = headers['x-shopify-event-id']
  if (event === undefined) return headers['x-shopify-webhook-id']
  return [event, headers['x-shopify-topic'], idOf(payload)].join(' ')
}

/** Topics that are sent often, or that another topic reports better. */
const silent = new RegExp(
  [
    String.raw`^(?:carts|checkouts|inventory_items|inventory_levels|themes|collections|locations|locales)/`,
    String.raw`^(?:bulk_operations|collection_listings|product_listings|variants|profiles|metaobjects)/`,
    String.raw`^(?:orders|products|customers|draft_orders|shop)/updated?$`,
    String.raw`^tender_transactions/|^customer\.(?:tags|joined|left)|^customers/(?:enable|disable)$`,
  ].join('|'),
)

function toAction({ payload, headers }: PresetRequest<Payload>) {
  const topic = headers['x-shopify-topic']
  if (!topic) throw new InputError('The header X-Shopify-Topic is missing; it names the event.')
  if (silent.test(topic) || isUneventful(topic, payload)) return null
  const shop = headers['x-shopify-shop-domain']
  const [resource = 'shop'] = topic.split('/')
  const orderId = resource === 'orders' ? idOf(payload) : payload.order_id && String(payload.order_id)
  const path = orderId ? `orders/${orderId}` : pathOf(resource, payload)
  const message = lines(
    `Shopify: ${headOf(topic, payload)}${shop ? ` in ${shop}` : ''}`,
    payload.test === true && 'This is a test: no real money.',
    ...factsOf(resource, payload),
    shop && path && `https://${shop}/admin/${path}`,
    payload.note && `\n${clip(payload.note)}`,
  )
  return { message, sessionKey: `hook:shopify:${shop ?? 'shop'}${path ? `/${path}` : ''}` }
}

/** Payments and deliveries are reported when they fail. */
function isUneventful(topic: string, { status, shipment_status: shipment }: Payload): boolean {
  if (topic === 'order_transactions/create') return status !== 'failure' && status !== 'error'
  if (topic === 'fulfillments/update')
    return shipment !== 'failure' && !['failure', 'error', 'cancelled'].includes(status ?? '')
  return false
}

// ── Texts ───────────────────────────────────────────────────────────────────────────────────────

const things: Readonly<Record<string, string>> = {
  orders: 'order',
  customers: 'customer',
  products: 'product',
  draft_orders: 'draft order',
  fulfillments: 'fulfillment',
  order_transactions: 'payment',
  refunds: 'refund',
  disputes: 'dispute',
}

const verbs: Readonly<Record<string, string>> = {
  create: 'was created',
  delete: 'was deleted',
  update: 'was changed',
  updated: 'was changed',
  edited: 'was edited',
  paid: 'was paid',
  cancelled: 'was cancelled',
  fulfilled: 'was fulfilled',
  partially_fulfilled: 'was partially fulfilled',
}

/** Topics whose words do not say what happened. */
const sentences: Readonly<Record<string, string>> = {
  'app/uninstalled': 'the app was uninstalled',
  'customers/data_request': 'a customer asks for their data',
  'customers/redact': "a customer's data must be deleted",
  'shop/redact': "the shop's data must be deleted",
}

function headOf(topic: string, payload: Payload): string {
  const sentence = entryOf(sentences, topic)
  if (sentence !== undefined) return sentence
  const [resource = '', event = ''] = topic.split('/')
  const thing = entryOf(things, resource)
  const failed = resource === 'order_transactions' || topic === 'fulfillments/update'
  const verb = failed ? stateVerb(payload) : entryOf(verbs, event)
  const total = moneyOf(payload)
  if (thing === undefined || verb === undefined) return `${plain(topic.replace('/', ' '))}${total ? `, ${total}` : ''}`
  const title = payload.name || (payload.title && `"${clip(payload.title, 300)}"`) || nameOf(payload)
  return `${thing}${title ? ` ${title}` : ''} ${verb}${total ? `, ${total}` : ''}`
}

const stateVerb = ({ status, shipment_status: shipment }: Payload): string =>
  status === 'cancelled' && shipment !== 'failure' ? 'was cancelled' : 'failed'

function factsOf(resource: string, payload: Payload): (string | false | null | undefined)[] {
  const { customer, line_items: items, financial_status: paid, fulfillment_status: sent } = payload
  const email = customer?.email || payload.email || payload.contact_email
  const who = customer && [nameOf(customer), email].filter(Boolean).join(', ')
  const reason = payload.cancel_reason || payload.reason || payload.message
  return [
    who ? `Customer: ${who}` : email && `Email: ${email}`,
    paid && `Payment: ${plain(paid)}`,
    paid && `Fulfillment: ${plain(sent || 'unfulfilled')}`,
    items?.length ? `Items: ${itemsText(items)}` : undefined,
    payload.kind && `Kind: ${plain(payload.kind)}`,
    resource === 'disputes' && payload.status && `Status: ${plain(payload.status)}`,
    reason && `Reason: ${clip(plain(reason), 500)}`,
    payload.shipment_status && `Shipment: ${plain(payload.shipment_status)}`,
    payload.evidence_due_by && `Evidence due: ${payload.evidence_due_by}`,
    payload.tracking_url && `Tracking: ${[payload.tracking_company, payload.tracking_url].filter(Boolean).join(' ')}`,
  ]
}

const mostItems = 10

function itemsText(items: NonNullable<Payload['line_items']>): string {
  const shown = items
    .slice(0, mostItems)
    .map(({ quantity, name, title }) => `${quantity ?? 1} × ${clip(name || title, 100) || 'an item'}`)
  return [...shown, ...(items.length > mostItems ? [`and ${items.length - mostItems} more`] : [])].join(', ')
}

const plain = (words: string): string => words.replaceAll('_', ' ')

const nameOf = ({ first_name: first, last_name: last }: Pick<Payload, 'first_name' | 'last_name'>): string =>
  [first, last].filter(Boolean).join(' ')

// ── Money ───────────────────────────────────────────────────────────────────────────────────────

/** A refund has the amounts in its transactions. */
function moneyOf({ total_price: total, amount, currency, transactions }: Payload): string | undefined {
  if (!transactions?.length) return money(total ?? amount, currency)
  const refunded = transactions.filter(({ kind, status }) => kind === 'refund' && (status ?? 'success') === 'success')
  const sum = refunded.reduce((whole, one) => whole + Number(one.amount), 0)
  return refunded.length > 0 ? money(sum, refunded[0]?.currency) : undefined
}

/** Amounts are in the main unit of the currency. Shopify writes `500.00` also for a currency without decimals. */
function money(amount: string | number | null | undefined, currency: string | null | undefined): string | undefined {
  const value = Number(amount)
  if (amount === null || amount === undefined || amount === '' || !Number.isFinite(value)) return undefined
  return `${value.toFixed(decimalsOf(currency))} ${currency ?? ''}`.trimEnd()
}

const decimalsOf = (currency: string | null | undefined): number =>
  /^[A-Z]{3}$/.test(currency ?? '')
    ? (new Intl.NumberFormat('en', { style: 'currency', currency: currency as string }).resolvedOptions()
        .maximumFractionDigits ?? 2)
    : 2

// ── Ids ─────────────────────────────────────────────────────────────────────────────────────────

/** JSON numbers are exact up to 2^53 only, and ids may be greater; the GraphQL id is a text. */
const idOf = ({ admin_graphql_api_id: gid, id }: Payload): string | undefined =>
  /\/(\d+)$/.exec(gid ?? '')?.[1] ?? (id ? String(id) : undefined)

/** Things that have a page in the admin. */
const pages: ReadonlySet<string> = new Set(['customers', 'products', 'draft_orders'])

const pathOf = (resource: string, payload: Payload): string | undefined =>
  pages.has(resource) && idOf(payload) ? `${resource}/${idOf(payload)}` : undefined
