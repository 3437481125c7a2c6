// Payloads of Shopify, after its reference of webhook topics.
import { one, type Samples } from '../sample.ts'

const shop = 'octo.myshopify.com'
const customer = { id: 5, first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com' }
const order = {
  id: 820_982_911_946_154_500,
  admin_graphql_api_id: 'gid://shopify/Order/820982911946154508',
  name: '#1001',
  email: 'ada@example.com',
  contact_email: null,
  currency: 'USD',
  total_price: '199.00',
  financial_status: 'partially_paid',
  fulfillment_status: null,
  cancel_reason: null,
  test: false,
  note: 'Leave it at the door.',
  customer,
  line_items: [
    { id: 1, quantity: 2, title: 'Basket', name: 'Basket - red', price: '50.00' },
    { id: 2, quantity: 1, title: 'Lid', name: null, price: '99.00' },
  ],
}
const refund = {
  id: 9,
  order_id: 450_789_469,
  note: 'Broken',
  transactions: [
    { id: 1, kind: 'refund', status: 'success', amount: '20.50', currency: 'EUR' },
    { id: 2, kind: 'refund', status: 'success', amount: '0.40', currency: 'EUR' },
    { id: 3, kind: 'refund', status: 'failure', amount: '7.00', currency: 'EUR' },
  ],
}
const payment = {
  id: 3,
  order_id: 450_789_469,
  kind: 'sale',
  status: 'failure',
  message: 'Card declined',
  amount: '10.00',
  currency: 'USD',
}
const fulfillment = {
  id: 4,
  order_id: 450_789_469,
  name: '#1001.1',
  status: 'success',
  shipment_status: null,
  tracking_company: 'UPS',
  tracking_url: 'https://track.example.com/1',
  line_items: [{ quantity: 1, name: 'Basket' }],
}
const topic = (name: string, what: string, payload: object) =>
  one(what, payload, {
    'x-shopify-topic': name,
    'x-shopify-shop-domain': shop,
    'x-shopify-webhook-id': `w ${what}`,
    'x-shopify-event-id': `e ${what}`,
  })

export const shopify: Samples = {
  told: [
    topic('orders/create', 'an order', order),
    topic('orders/create', 'an order in yen, of a test', {
      ...order,
      test: true,
      currency: 'JPY',
      total_price: '5000.00',
      note: '',
    }),
    topic('orders/paid', 'a paid order in dinars', {
      ...order,
      currency: 'KWD',
      total_price: '12.345',
      financial_status: 'paid',
    }),
    topic('orders/cancelled', 'a cancelled order', { ...order, cancel_reason: 'customer' }),
    topic('orders/partially_fulfilled', 'a part of an order', { ...order, fulfillment_status: 'partial' }),
    topic('orders/delete', 'a deleted order', { id: 450_789_469 }),
    topic('refunds/create', 'a refund', refund),
    topic('disputes/create', 'a dispute', {
      id: 1,
      order_id: 450_789_469,
      type: 'chargeback',
      amount: '11.50',
      currency: 'USD',
      reason: 'fraudulent',
      status: 'needs_response',
      evidence_due_by: '2030-02-01T00:00:00Z',
    }),
    topic('order_transactions/create', 'a payment that failed', payment),
    topic('fulfillments/create', 'a shipment', fulfillment),
    topic('fulfillments/update', 'a shipment that failed', { ...fulfillment, shipment_status: 'failure' }),
    topic('customers/create', 'a customer', { ...customer, admin_graphql_api_id: 'gid://shopify/Customer/5' }),
    topic('products/create', 'a product', { id: 8, title: 'Basket', admin_graphql_api_id: 'gid://shopify/Product/8' }),
    topic('app/uninstalled', 'an app that is removed', { id: 1, name: 'Octo', email: 'shop@example.com' }),
    topic('customers/data_request', 'a request for data', {
      shop_id: 1,
      customer: { id: 5, email: 'ada@example.com' },
    }),
    topic('customers/redact', 'a request to delete', { shop_id: 1, customer: { id: 5, email: 'ada@example.com' } }),
    topic('subscription_contracts/create', 'another topic', { id: 77, currency: 'USD' }),
    one('an order without its shop', order, { 'x-shopify-topic': 'orders/create' }),
  ],
  silent: [
    topic('orders/updated', 'a changed order', order),
    topic('products/update', 'a changed product', { id: 8, title: 'Basket' }),
    topic('carts/update', 'a cart', { id: 'c1', line_items: [] }),
    topic('checkouts/create', 'a checkout', { id: 1 }),
    topic('inventory_levels/update', 'a stock', { inventory_item_id: 1 }),
    topic('order_transactions/create', 'a payment that succeeds', { ...payment, status: 'success' }),
    topic('fulfillments/update', 'a shipment on its way', { ...fulfillment, shipment_status: 'in_transit' }),
  ],
  wrong: [
    one('no topic', order),
    one('a list', [], { 'x-shopify-topic': 'orders/create' }),
    one('a customer that is a text', { customer: 'Ada' }, { 'x-shopify-topic': 'orders/create' }),
    one('items that are none', { line_items: 'x' }, { 'x-shopify-topic': 'orders/create' }),
    one('a currency that is a number', { currency: 5 }, { 'x-shopify-topic': 'orders/create' }),
    one('an amount that is a list', { total_price: [] }, { 'x-shopify-topic': 'orders/create' }),
  ],
}
