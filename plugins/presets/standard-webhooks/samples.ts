// Samples of Standard Webhooks: a new user, and a paid invoice.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const headers = { 'webhook-id': `msg_${id}` }
  const user = { id: 'user_1', email: 'ada@example.com', plan: { name: 'pro', seats: 3 } }
  const invoice = { id: 'inv_1', customer: 'user_1', amount: '59.90', currency: 'EUR' }
  return [
    { name: 'user-created', payload: { type: 'user.created', timestamp: now, data: user }, headers },
    { name: 'invoice-paid', payload: { type: 'invoice.paid', timestamp: now, data: invoice }, headers },
  ]
}
