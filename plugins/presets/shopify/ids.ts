// Which thing a webhook is about, by ids that are known exactly: its session, and its page in the admin.
import { exactId, line } from 'svc-gateway/kit'
import type { Payload } from './payload.ts'

type Id = string | number | null | undefined
type Reference = { admin_graphql_api_id?: string | null; id?: Id; name?: string | null } | null | undefined

/**
 * The id of GraphQL (`gid://shopify/Order/1`) is a text. That of REST is a number, which JSON has rounded if it is
 * greater than 2^53: it may be the id of another thing then.
 */
function idFrom(gid: Id, id?: Id): string | undefined {
  const found = typeof gid === 'string' ? /^gid:\/\/shopify\/\w{1,100}\/([\w-]{1,100})/.exec(gid)?.[1] : undefined
  if (found !== undefined || id === undefined) return found
  return idFrom(id) ?? exactId(id)
}

const refer = (thing: Reference): string | undefined => idFrom(thing?.admin_graphql_api_id, thing?.id)

/** Where a topic wraps its thing. */
export const wrapped = (payload: Payload): Reference =>
  payload.fulfillment_hold ??
  payload.submitted_fulfillment_order ??
  payload.moved_fulfillment_order ??
  payload.fulfillment_order ??
  payload.app_subscription ??
  payload.app_purchase_one_time ??
  payload.company_contact_role

/** The id of the thing itself. */
export const idOf = (payload: Payload): string | undefined => refer(payload) ?? refer(wrapped(payload))

/** Whether the payload has an id that JSON has rounded, and no text of it. */
export function isIdLost({ order_edit: edit, ...payload }: Payload): boolean {
  const ids: readonly (readonly [Id, Id])[] = [
    [payload.admin_graphql_api_id, payload.id],
    [payload.admin_graphql_api_order_id, payload.order_id ?? edit?.order_id],
    [payload.admin_graphql_api_customer_id, payload.customer_id],
  ]
  return ids.some(([gid, id]) => typeof id === 'number' && idFrom(gid, id) === undefined)
}

export interface Subject {
  /** As in the addresses of the admin: `orders`. */
  resource: string
  id: string
}

/** Payments, refunds, shipments and returns belong to their order; contacts and locations to their company. */
export function subjectOf(resource: string, payload: Payload): Subject | undefined {
  const own = idOf(payload)
  const isOf = (name: string) => resource.startsWith(name)
  const found: readonly (readonly [string, string | undefined])[] = [
    ['subscription_contracts', isOf('subscription') ? (exactId(payload.subscription_contract_id) ?? own) : undefined],
    ['orders', orderOf(resource, payload)],
    ['orders', resource === 'orders' ? nameOf(payload) : undefined],
    ['returns', refer(payload.return)],
    ['fulfillment_orders', refer(payload.fulfillment_order)],
    ['customers', customerOf(payload) ?? (isOf('customers') ? own : undefined)],
    ['companies', refer(payload.company ?? payload.company_contact?.company)],
    [resource, resource === 'app' || resource === 'shop' ? undefined : own],
  ]
  const [kind, id] = found.find((each) => each[1]) ?? []
  return kind && id ? { resource: kind, id } : undefined
}

const orderOf = (resource: string, payload: Payload): string | undefined =>
  idFrom(payload.admin_graphql_api_order_id, payload.order_id ?? payload.order_edit?.order_id) ??
  refer(payload.order) ??
  (resource === 'orders' && !payload.order_edit ? refer(payload) : undefined)

/** What else tells orders apart, if the id is not known. */
const nameOf = ({ name, order_number: number, token }: Payload): string | undefined =>
  line(name, 100) || exactId(number) || line(token, 100) || undefined

function customerOf(payload: Payload): string | undefined {
  const { customerId, customer_id: id, admin_graphql_api_customer_id: gid, customer } = payload
  const kept = payload.admin_graphql_api_customer_kept_id
  // The customer of an order or draft is not what it is about. Requests about data have no id of their own.
  return idFrom(gid ?? kept ?? customerId, id) ?? (payload.id === undefined ? refer(customer) : undefined)
}

/** Things that have a page in the admin. */
const pages: ReadonlySet<string> = new Set([
  'orders',
  'customers',
  'products',
  'draft_orders',
  'companies',
  'discounts',
])

/** The page of the thing, or else of its customer. The name of an order is not its address. */
export function pageOf(subject: Subject | undefined, payload: Payload): string | undefined {
  const customer = customerOf(payload)
  const shown = [subject, customer === undefined ? undefined : { resource: 'customers', id: customer }].find(
    (each) => each && pages.has(each.resource) && /^\d+$/.test(each.id),
  )
  return shown && `${shown.resource}/${shown.id}`
}
