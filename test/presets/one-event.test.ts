// Webhooks of Shopify: one event may be about several things, and is sent once for each subscription and each attempt.
import { describe, expect, it } from 'vitest'
import { shareGateway } from '../helpers.ts'

const secret = 'the-secret-of-the-tests'

describe('webhooks of one event of Shopify', () => {
  const { post } = shareGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: {
      presets: ['shopify'],
      shopify: { deliver: false, wakeMode: 'next-heartbeat', auth: { scheme: 'token', secret } },
    },
  })

  /** Whether each webhook starts a run; all have the same event. */
  async function startsOf(event: string, topic: string, webhooks: readonly (readonly [id: string, payload: object])[]) {
    const starts: boolean[] = []
    for (const [id, payload] of webhooks) {
      const { status, headers } = await post('/hooks/shopify', payload, {
        authorization: `Bearer ${secret}`,
        'x-shopify-topic': topic,
        'x-shopify-shop-domain': 'octo.myshopify.com',
        'x-shopify-event-id': event,
        'x-shopify-webhook-id': id,
      })
      expect(status).toBe(200)
      starts.push(headers.get('idempotent-replayed') === null)
    }
    return starts
  }
  const hold = (id: number) => ({
    fulfillment_order: { id: `gid://shopify/FulfillmentOrder/${id}`, status: 'on_hold' },
  })

  it('starts a run for each thing, and none for another subscription', async () => {
    const sent = [['w1', { id: 1 }] as const, ['w2', { id: 2 }] as const, ['w3', { id: 1 }] as const]
    expect(await startsOf('e1', 'orders/delete', sent)).toEqual([true, true, false])
  })

  it('starts a run for each thing that is wrapped', async () => {
    const sent = [['w1', hold(1)] as const, ['w2', hold(2)] as const, ['w1', hold(1)] as const]
    expect(await startsOf('e2', 'fulfillment_orders/placed_on_hold', sent)).toEqual([true, true, false])
  })

  it('starts a run for each thing whose id is beyond 2^53', async () => {
    const large = (digit: number) => ({ id: BigInt(`82098291194615450${digit}`) })
    const sent = [['w1', large(8)] as const, ['w2', large(9)] as const, ['w3', large(9)] as const]
    expect(await startsOf('e3', 'orders/delete', sent)).toEqual([true, true, false])
  })
})
