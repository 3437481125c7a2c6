// The fields of Shopify's payloads that sentences and ids are made of. Of other topics, all fields are listed.
import { Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Id = Maybe(Type.Union([Type.String(), Type.Number()]))
const Amount = Id
/** Another thing, or the thing itself where a topic wraps it: with the id of GraphQL, of REST, or with one for both. */
const Reference = Maybe(Type.Object({ admin_graphql_api_id: Text, id: Id, name: Text }))

const Customer = Type.Object({
  admin_graphql_api_id: Text,
  id: Id,
  first_name: Text,
  last_name: Text,
  email: Text,
  phone: Text,
})

const Item = Type.Object({ quantity: Maybe(Type.Number()), title: Text, name: Text })

const Refunded = Type.Object({
  quantity: Maybe(Type.Number()),
  subtotal_set: Maybe(Type.Object({ shop_money: Maybe(Type.Object({ amount: Amount, currency_code: Text })) })),
  line_item: Maybe(Item),
})

const Changes = Maybe(Type.Array(Type.Object({ delta: Maybe(Type.Number()) })))

export const Payload = Type.Object({
  id: Id,
  admin_graphql_api_id: Text,
  name: Text,
  title: Text,
  order_number: Id,
  token: Text,
  order_id: Id,
  admin_graphql_api_order_id: Text,
  order: Reference,
  return: Reference,
  customer_id: Id,
  customerId: Text,
  admin_graphql_api_customer_id: Text,
  admin_graphql_api_customer_kept_id: Text,
  company: Reference,
  company_contact: Maybe(Type.Object({ company: Reference })),
  fulfillment_hold: Reference,
  fulfillment_order: Reference,
  submitted_fulfillment_order: Reference,
  moved_fulfillment_order: Reference,
  app_subscription: Reference,
  app_purchase_one_time: Reference,
  company_contact_role: Reference,
  subscription_contract_id: Id,
  test: Maybe(Type.Boolean()),
  currency: Text,
  total_price: Amount,
  current_total_price: Amount,
  amount: Amount,
  financial_status: Text,
  fulfillment_status: Text,
  cancelled_at: Text,
  cancel_reason: Text,
  status: Text,
  shipment_status: Text,
  type: Text,
  vendor: Text,
  reason: Text,
  kind: Text,
  gateway: Text,
  message: Text,
  note: Text,
  email: Text,
  contact_email: Text,
  phone: Text,
  first_name: Text,
  last_name: Text,
  evidence_due_by: Text,
  tracking_company: Text,
  tracking_number: Text,
  tracking_url: Text,
  customer: Maybe(Customer),
  destination: Maybe(Type.Object({ name: Text, city: Text, country: Text })),
  line_items: Maybe(Type.Array(Item)),
  refund_line_items: Maybe(Type.Array(Refunded)),
  transactions: Maybe(Type.Array(Type.Object({ amount: Amount, currency: Text, kind: Text, status: Text }))),
  variants: Maybe(Type.Array(Type.Object({ title: Text, price: Amount }))),
  order_edit: Maybe(
    Type.Object({
      order_id: Id,
      staff_note: Text,
      line_items: Maybe(Type.Object({ additions: Changes, removals: Changes })),
    }),
  ),
})
export type Payload = Static<typeof Payload>
