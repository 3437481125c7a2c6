// What a webhook says about its thing, one line for each fact.
import { type FieldFormat, line, listFields, plain, valueText, words } from 'svc-gateway/kit'
import { money } from './money.ts'
import type { Payload } from './payload.ts'

type Facts = readonly (string | false | null | undefined)[]

/** The facts of a topic or resource that has sentences; all fields of another one. */
export function factsOf(topic: string, payload: Payload): Facts {
  const [resource = '', event = ''] = topic.split('/')
  if (topic === 'orders/edited') return editFacts(payload)
  if (resource === 'orders' || resource === 'draft_orders')
    return isOrder(payload) ? orderFacts(payload, event) : otherFacts(resource, payload)
  if (resource === 'refunds') return refundFacts(payload)
  if (resource === 'fulfillments') return shipmentFacts(payload)
  if (resource === 'order_transactions') return paymentFacts(payload)
  if (resource === 'disputes') return disputeFacts(payload)
  if (resource === 'products') return productFacts(payload)
  if (topic === 'customers/create' || topic === 'customers/delete' || topic === 'app/uninstalled')
    return contactFacts(payload)
  return otherFacts(resource, payload)
}

const isOrder = ({ line_items: items, total_price: total }: Payload): boolean => Boolean(items) || Boolean(total)

function orderFacts(payload: Payload, event: string): Facts {
  const { financial_status: paid, fulfillment_status: sent, cancelled_at: cancelled, status, currency } = payload
  const { cancel_reason: reason, total_price: total, current_total_price: rest } = payload
  return [
    ...contactFacts(payload),
    fact('Status', status),
    fact('Payment', paid),
    paid && fact('Fulfillment', sent || 'unfulfilled'),
    itemsFact(payload.line_items),
    Number(rest ?? total) === Number(total) ? '' : fact('After edits and refunds', money(rest, currency)),
    event === 'cancelled'
      ? fact('Reason', reason)
      : cancelled && fact('Cancelled', words(cancelled, reason && `(${plain(reason)})`)),
  ]
}

function contactFacts({ customer, email, contact_email: contact, phone }: Payload): Facts {
  const address = customer?.email || email || contact
  if (!customer) return [address && `Email: ${address}`, phone && `Phone: ${phone}`]
  const who = [personName(customer), address, customer.phone].filter(Boolean)
  return [who.length > 0 && `Customer: ${who.join(', ')}`]
}

export const personName = (person: { first_name?: string | null; last_name?: string | null }): string =>
  [person.first_name, person.last_name].filter(Boolean).join(' ')

/** An edit has only the ids of its items. */
function editFacts({ order_edit: edit }: Payload): Facts {
  const { additions, removals } = edit?.line_items ?? {}
  const count = (changes: typeof additions) => changes?.reduce((sum, { delta }) => sum + (delta ?? 1), 0)
  const [added, removed] = [count(additions), count(removals)]
  return [added ? `Items added: ${added}` : undefined, removed ? `Items removed: ${removed}` : undefined]
}

/** Without a transaction, nothing was paid back: items were only taken back, or removed before they were paid. */
function refundFacts({ refund_line_items: lines, transactions }: Payload): Facts {
  const prices = lines?.map(({ subtotal_set: price }) => price?.shop_money)
  const value = prices?.reduce((sum, price) => sum + Number(price?.amount ?? 0), 0)
  const others = (transactions ?? []).filter(
    ({ kind, status }) => kind !== 'refund' || (status ?? 'success') !== 'success',
  )
  return [
    itemsFact(lines?.map(({ quantity, line_item: item }) => ({ ...item, quantity }))),
    value ? fact('Price of the items', money(value, prices?.[0]?.currency_code)) : undefined,
    transactions?.length === 0 && 'No money was paid back.',
    ...others.slice(0, mostListed).map((one) => {
      const paid = money(one.amount, one.currency)
      return `${words('Not counted:', plain(one.kind) || 'transaction', paid && `of ${paid}`)}, ${plain(one.status) || 'unknown'}`
    }),
  ]
}

function shipmentFacts(payload: Payload): Facts {
  const { destination, tracking_company: company, tracking_number: number, tracking_url: url } = payload
  const to = [destination?.name, destination?.city, destination?.country].filter(Boolean).join(', ')
  return [
    to && `To: ${to}`,
    ...contactFacts({ email: payload.email }),
    fact('Status', payload.status),
    fact('Shipment', payload.shipment_status),
    itemsFact(payload.line_items),
    (number || url) && `Tracking: ${words(company, number, url)}`,
  ]
}

const paymentFacts = ({ kind, gateway, message }: Payload): Facts => [
  fact('Kind', kind),
  fact('Gateway', gateway),
  message && `Reason: ${message}`,
]

const disputeFacts = ({ type, status, reason, evidence_due_by: due }: Payload): Facts => [
  fact('Type', type),
  fact('Status', status),
  fact('Reason', reason),
  due && `Evidence due: ${due}`,
]

const productFacts = ({ status, vendor, variants }: Payload): Facts => [
  fact('Status', status),
  vendor && `Vendor: ${vendor}`,
  variants?.length
    ? `Variants: ${listed(variants, ({ title, price }) => words(line(title, 100), money(price, undefined)))}`
    : '',
]

const fact = (label: string, value: string | null | undefined): string | undefined =>
  value ? `${label}: ${plain(value)}` : undefined

type Item = NonNullable<Payload['line_items']>[number]

const itemsFact = (items: readonly Item[] | null | undefined): string | undefined =>
  items?.length
    ? `Items: ${listed(items, ({ quantity, name, title }) => `${quantity ?? 1} × ${line(name || title, 100) || 'an item'}`)}`
    : undefined

const mostListed = 10

function listed<Element>(elements: readonly Element[], textOf: (element: Element) => string): string {
  const more = elements.length - mostListed
  return [...elements.slice(0, mostListed).map(textOf), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

// ── Other topics ────────────────────────────────────────────────────────────────────────────────

/** Fields that are in the rest of the message. */
const told: ReadonlySet<string> = new Set(['id', 'name', 'title', 'note', 'message', 'test', 'customer'])
/** Fields that say nothing. */
const ignored: ReadonlySet<string> = new Set(
  (
    'admin_graphql_api_id admin_graphql_api_shop_id shop_id shop_domain created_at updated_at token handle locale ' +
    'idempotency_key revision_id'
  ).split(' '),
)

/** Lists all fields. An id is often there twice, for REST and for GraphQL. */
function otherFacts(resource: string, payload: Payload): Facts {
  // Some topics wrap their thing: `{ app_subscription: { … } }`.
  const { [resource.replaceAll(/s(?=_|$)/g, '')]: inner, ...fields } = payload as Record<string, unknown>
  const thing = typeof inner === 'object' && inner !== payload.customer ? { ...inner, ...fields } : payload
  return [...contactFacts({ customer: payload.customer }), ...new Set(listFields(thing, format))]
}

const format: FieldFormat = {
  labelOf: (path) => {
    const name = path
      .join('_')
      .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
      .toLowerCase()
    const text = plain(name.replaceAll('admin_graphql_api_', '').replace(/_id$/, ''))
    return text.charAt(0).toUpperCase() + text.slice(1).replaceAll(/\b(\w+) \1\b/g, '$1')
  },
  textOf: (value, path) => {
    const key = path.at(-1) ?? ''
    return path.length > 0 && (ignored.has(key) || (path.length === 1 && told.has(key)))
      ? ''
      : textOf(value, path.length)
  },
}

/** `undefined` for an object of which the fields are listed. */
function textOf(value: unknown, depth: number): string | undefined {
  if (typeof value === 'boolean') return value ? 'yes' : ''
  if (Array.isArray(value)) return listed(value.map(elementText).filter(Boolean), (text) => text)
  if (typeof value !== 'object' || value === null) return valueText(value)?.replace(/^gid:\/\/shopify\/\w+\//, '')
  return depth === 0 ? undefined : objectText(value as Readonly<Record<string, unknown>>)
}

/** An amount, a period, an address, or the name of another thing. */
function objectText(value: Readonly<Record<string, unknown>>): string | undefined {
  const textsOf = (...keys: readonly string[]) => keys.map((key) => valueText(value[key]) ?? '')
  const [amount = '', ...units] = textsOf('amount', 'currency_code', 'currencyCode', 'currency')
  const unit = units.find(Boolean)
  if (amount && unit) return money(amount, unit)
  if (value['shop_money']) return textOf(value['shop_money'], 1)
  const [interval = '', count = ''] = textsOf('interval', 'interval_count')
  if (interval && count) return count === '1' ? `every ${interval}` : `every ${count} ${interval}s`
  const [street, ...area] = textsOf('address1', 'zip', 'city', 'country')
  if (street) return [street, ...area].filter(Boolean).join(', ')
  const [gid, name] = textsOf('admin_graphql_api_id', 'name')
  return gid && name ? name : undefined
}

const distinguishing = [
  'name',
  'title',
  'code',
  'message',
  'reason',
  'type',
  'price',
  'id',
  'line_item_id',
  'admin_graphql_api_id',
]

/** What tells an element of a list from the others. */
function elementText(element: unknown): string {
  if (typeof element !== 'object' || element === null) return textOf(element, 1) ?? ''
  const fields = element as Readonly<Record<string, unknown>>
  const textsOf = (...keys: readonly string[]) => keys.map((key) => line(textOf(fields[key], 1), 100)).find(Boolean)
  const count = textsOf('quantity', 'delta')
  const text = textsOf(...distinguishing)
  return words(count && text && `${count} ×`, text)
}
