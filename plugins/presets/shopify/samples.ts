// Samples of Shopify's webhooks: an order, its cancellation, and a refund.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id }: SampleSeed): SampleRequest[] => {
  const headers = (topic: string) => ({
    'x-shopify-topic': topic,
    'x-shopify-shop-domain': 'octo.myshopify.com',
    'x-shopify-webhook-id': id,
    'x-shopify-event-id': id,
  })
  return [
    { name: 'order-created', payload: order, headers: headers('orders/create') },
    { name: 'order-cancelled', payload: { ...order, cancel_reason: 'customer' }, headers: headers('orders/cancelled') },
    { name: 'refund-created', payload: refund, headers: headers('refunds/create') },
  ]
}

const order = {
  id: 450_789_469,
  admin_graphql_api_id: 'gid://shopify/Order/450789469',
  name: '#1001',
  email: 'ada@example.com',
  currency: 'EUR',
  total_price: '199.00',
  financial_status: 'paid',
  fulfillment_status: null,
  cancel_reason: null,
  test: false,
  note: 'Leave it at the door.',
  customer: { id: 5, first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com' },
  line_items: [
    { id: 1, quantity: 2, title: 'Cup', name: 'Cup - red', price: '50.00' },
    { id: 2, quantity: 1, title: 'Teapot', name: 'Teapot', price: '99.00' },
  ],
}

const refund = {
  id: 9,
  order_id: 450_789_469,
  note: 'Broken',
  transactions: [{ id: 1, kind: 'refund', status: 'success', amount: '50.00', currency: 'EUR' }],
}
