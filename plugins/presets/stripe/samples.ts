// Samples of Stripe's events: a payment that failed, one that succeeded, and a cancelled subscription.
import type { Json, SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const event = (type: string, object: Json) => ({
    id: `evt_${id.replaceAll('-', '')}`,
    object: 'event',
    api_version: '2025-03-31.basil',
    created: Math.floor(Date.parse(now) / 1000),
    livemode: false,
    pending_webhooks: 1,
    type,
    data: { object },
  })
  const paid = { ...charge, amount_captured: 2099, status: 'succeeded', failure_message: null }
  return [
    { name: 'charge-failed', payload: event('charge.failed', charge) },
    { name: 'charge-succeeded', payload: event('charge.succeeded', paid) },
    { name: 'subscription-deleted', payload: event('customer.subscription.deleted', subscription) },
  ]
}

const charge = {
  id: 'ch_1',
  object: 'charge',
  amount: 2099,
  amount_captured: 0,
  amount_refunded: 0,
  currency: 'eur',
  customer: 'cus_9',
  billing_details: { name: 'Ada Lovelace', email: null, phone: null },
  receipt_email: 'ada@example.com',
  status: 'failed',
  failure_message: 'Your card was declined.',
  description: null,
}

const subscription = {
  id: 'sub_1',
  object: 'subscription',
  customer: 'cus_9',
  currency: 'eur',
  status: 'canceled',
  cancel_at: null,
  cancel_at_period_end: false,
  ended_at: 1_900_000_000,
  trial_end: null,
  items: {
    object: 'list',
    data: [
      {
        id: 'si_1',
        object: 'subscription_item',
        price: {
          id: 'price_1',
          object: 'price',
          currency: 'eur',
          nickname: null,
          unit_amount: 1000,
          recurring: { interval: 'month', interval_count: 1 },
        },
        quantity: 2,
        current_period_end: 1_902_000_000,
      },
    ],
  },
}
