// Runs the suite of presets: accepted, skipped and refused webhooks, and a signature.
import { createHmac } from 'node:crypto'
import { presetContract } from 'svc-gateway/testing'
import { preset, scheme } from '../src/index.ts'

// The shop gives each webhook an id of its own.
const order = (total: number, type = 'order.created') => ({
  id: `w-${total}-${type}`,
  type,
  order: { number: 'A-1', total, currency: 'EUR' },
})
const anotherOrder = {
  ...order(20, 'order.cancelled'),
  order: { ...order(20).order, number: 'A-2', note: 'Too late.' },
}
const body = JSON.stringify(order(20))
const time = Math.floor(Date.now() / 1000)
const signature = createHmac('sha256', 'the secret').update(`${time}.${body}`).digest('hex')

presetContract(preset, {
  config: { minimumTotal: 10 },
  accepted: [
    { what: 'a new order', payload: order(20) },
    { what: 'a cancelled order with a note', payload: anotherOrder },
  ],
  skipped: [
    { what: 'a small order', payload: order(5) },
    { what: 'an event that is not reported', payload: order(20, 'order.viewed') },
  ],
  refused: [{ what: 'an order without a number', payload: { ...order(20), order: { total: 20, currency: 'EUR' } } }],
  signed: { auth: { secret: 'the secret' }, headers: { 'x-signature': `t=${time},v1=${signature}` }, body },
  scheme,
})
