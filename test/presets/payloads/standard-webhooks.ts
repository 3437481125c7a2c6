// Payloads of Standard Webhooks, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

export const standardWebhooks: Samples = {
  told: [
    one(
      'a user',
      {
        type: 'user.created',
        timestamp: '2030-01-31T09:00:00Z',
        data: {
          id: 'user_1',
          email: 'ada@example.com',
          plan: { name: 'pro', seats: 3 },
          tags: ['a', 'b'],
          deleted: false,
          note: null,
        },
      },
      { 'webhook-id': 'msg_1' },
    ),
    one(
      'much, and deep',
      {
        type: 'report.ready',
        data: { rows: Array.from({ length: 40 }, (_, row) => row), deep: { a: { b: { c: { d: 1 } } } } },
      },
      { 'svix-id': 'msg_2' },
    ),
    one('no data', { type: 'ping.sent' }),
    one('the thing itself', { id: 'p1', status: 'succeeded', output: ['https://example.com/1.png'], error: null }),
    one('a type of another name', { event_type: 'order.paid', id: 'o1', amount: 5, timestamp: '2030-01-31T09:00:00Z' }),
    one('a type in camel case', { eventType: 'order.paid', data: { id: 'o1' } }),
    one('an event', { event: 'order.paid', data: { id: 'o1', note: 'two\n\nlines' } }),
    one('a type that is a number', { type: 1, data: { id: 'o2' } }),
    one('an id that JSON has rounded', { type: 'order.paid', data: { id: 820_982_911_946_154_500, total: 5 } }),
    one('a value', { type: 'counter.changed', data: 7 }),
    one('a type and no data', { type: 'order.paid', id: 'o1', customer: { email: 'ada@example.com' } }),
  ],
  silent: [],
  wrong: [
    one('nothing', {}),
    one('a list', []),
    one('no type and no data', { data: {} }),
    one('an empty type', { type: '', data: {} }),
    one('a text', 'order.paid'),
    one('an endless type', { type: 'x'.repeat(201) }),
  ],
}
