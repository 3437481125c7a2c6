// The store contract: the outbox keeps the order per recipient, retries in place, and gives no delivery to two workers.
import { describe, expect, it } from 'vitest'
import type { OpenStore } from './open-store.ts'
import { claimDelivery, claimDeliveries, newDelivery, newEvent, post, start } from './store-samples.ts'

const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id)
const sent = { status: 'sent', platformId: 'p1' } as const

export function outboxContract(opened: OpenStore): void {
  describe('the outbox', () => {
    it('returns the oldest delivery of each lane: channel, account and recipient', async () => {
      const { store } = opened
      const first = newDelivery()
      const lanes = [newDelivery({ channel: 'radio' }), newDelivery({ accountId: 'work' }), newDelivery({ to: '43' })]
      await post(store, first, newDelivery(), ...lanes)
      expect(ids(await claimDeliveries(store))).toEqual(ids([first, ...lanes]))
      expect(await claimDeliveries(store)).toEqual([])
    })

    it('keeps the order of a lane with many workers', async () => {
      const { store } = opened
      const deliveries = Array.from({ length: 90 }, (_, n) => newDelivery({ to: String(n % 3) }))
      await post(store, ...deliveries)
      const order: string[] = []
      const work = async (owner: string) => {
        while (order.length < deliveries.length) {
          for (const { id, fencingToken } of await claimDeliveries(store, { owner, max: 2 })) {
            order.push(id)
            expect(await store.endDelivery(id, fencingToken, sent, start)).toBe(true)
          }
        }
      }
      await Promise.all(Array.from({ length: 8 }, (_, n) => work(`worker ${n}`)))
      for (const to of ['0', '1', '2']) {
        const lane = ids(deliveries.filter((delivery) => delivery.to === to))
        expect(order.filter((id) => lane.includes(id))).toEqual(lane)
      }
    })

    it('lets no delivery overtake one that waits for its next attempt', async () => {
      const { store } = opened
      const [first, second] = [newDelivery(), newDelivery()]
      await post(store, first, second)
      const claimed = await claimDelivery(store)
      await store.endDelivery(
        claimed.id,
        claimed.fencingToken,
        { status: 'retry', reason: 'busy', nextAt: start + 1000, uncertain: true },
        start,
      )
      expect(await claimDeliveries(store, { at: start + 999 })).toEqual([])
      expect(await store.getNextDeliveryAt()).toBe(start + 1000)
      const [again] = await claimDeliveries(store, { at: start + 1000 })
      expect(again).toMatchObject({ id: first.id, attempt: 2, uncertain: true, reason: 'busy', status: 'sending' })
      expect(again!.fencingToken).toBeGreaterThan(claimed.fencingToken)
    })

    it('fails a delivery that the platform had accepted, once, with its event', async () => {
      const { store } = opened
      const delivery = newDelivery()
      await post(store, delivery)
      const event = newEvent({ sessionKey: 'agent:main:late' })
      const fail = () => store.failDelivery(delivery.id, { chunk: 1, reason: 'gone', event }, start + 5)
      expect(await fail()).toBe(false)
      const { id, fencingToken } = await claimDelivery(store)
      await store.advanceDelivery(id, fencingToken, { chunksSent: 3, platformId: null })
      await store.endDelivery(id, fencingToken, sent, start)
      expect(await Promise.all([fail(), fail()])).toEqual([true, false])
      expect(await store.getDelivery(id)).toMatchObject({ status: 'failed', reason: 'gone', chunksSent: 1 })
      expect(await store.countWaitingEvents('agent:main:late')).toBe(1)
      expect(await store.retryDelivery(id, start)).toBe(true)
      expect(await fail()).toBe(false)
      expect(await store.failDelivery('nobody', { chunk: 0, reason: 'gone', event: newEvent() }, start)).toBe(false)
    })

    it('keeps the failure when it comes before the end of the attempt', async () => {
      const { store } = opened
      await post(store, newDelivery(), newDelivery())
      const { id, fencingToken } = await claimDelivery(store)
      expect(await store.failDelivery(id, { chunk: 0, reason: 'gone', event: newEvent() }, start)).toBe(true)
      expect(await store.advanceDelivery(id, fencingToken, { chunksSent: 1, platformId: null })).toBe(false)
      expect(await store.endDelivery(id, fencingToken, sent, start)).toBe(false)
      expect(await store.getDelivery(id)).toMatchObject({ status: 'failed', chunksSent: 0 })
      expect(await claimDeliveries(store)).toHaveLength(1)
    })

    it('continues with the lane whatever the result of a delivery', async () => {
      const { store } = opened
      const deliveries = [newDelivery(), newDelivery(), newDelivery(), newDelivery()]
      await post(store, ...deliveries)
      const ends = [sent, { status: 'failed', reason: 'gone' }, { status: 'unknown', reason: 'no answer' }] as const
      for (const [n, end] of ends.entries()) {
        const { id, fencingToken } = await claimDelivery(store)
        expect(id).toBe(deliveries[n]?.id)
        expect(await store.endDelivery(id, fencingToken, end, start)).toBe(true)
      }
      expect(ids(await claimDeliveries(store))).toEqual([deliveries[3]?.id])
      const ended = await store.listRunDeliveries(['run-of-nobody'])
      expect(ended.map(({ status, reason, platformId }) => [status, reason, platformId])).toEqual([
        ['sent', null, 'p1'],
        ['failed', 'gone', null],
        ['unknown', 'no answer', null],
        ['sending', null, null],
      ])
    })

    it('claims a new delivery at once, also when the clock of the claiming gateway is behind', async () => {
      const { store } = opened
      const delivery = newDelivery()
      await store.accept({ at: start + 60_000, deliveries: [delivery] })
      expect(await store.getDelivery(delivery.id)).toMatchObject({ nextAt: start + 60_000 })
      const { id, fencingToken } = await claimDelivery(store)
      const retry = { status: 'retry', reason: 'interrupted', nextAt: 0, uncertain: false } as const
      await store.endDelivery(id, fencingToken, retry, start + 60_000)
      expect(ids(await claimDeliveries(store))).toEqual([delivery.id])
    })

    it('keeps the reference to a file', async () => {
      const { store } = opened
      const file = { folder: '/home/agent', path: 'a/b.pdf', name: 'b.pdf', type: 'application/pdf' }
      await post(store, newDelivery({ file }), newDelivery({ to: '43' }))
      expect((await claimDeliveries(store)).map((delivery) => delivery.file)).toEqual([file, null])
    })

    it('stores the event of a failed delivery once, with its end', async () => {
      const { store } = opened
      await post(store, newDelivery())
      const { id, fencingToken } = await claimDelivery(store)
      const end = { status: 'failed', reason: 'gone', event: newEvent({ sessionKey: 'agent:main:alone' }) } as const
      expect(await store.endDelivery(id, fencingToken + 1, end, start)).toBe(false)
      expect(await store.countWaitingEvents('agent:main:alone')).toBe(0)
      expect(await store.endDelivery(id, fencingToken, end, start)).toBe(true)
      expect(await store.endDelivery(id, fencingToken, end, start)).toBe(false)
      expect(await store.countWaitingEvents('agent:main:alone')).toBe(1)
    })

    it('counts the chunks that were sent', async () => {
      const { store } = opened
      await post(store, newDelivery())
      const { id, fencingToken } = await claimDelivery(store)
      expect(await store.advanceDelivery(id, fencingToken, { chunksSent: 2, platformId: null })).toBe(true)
      await store.endDelivery(
        id,
        fencingToken,
        { status: 'retry', reason: 'busy', nextAt: start, uncertain: false },
        start,
      )
      expect(await claimDeliveries(store)).toMatchObject([{ chunksSent: 2 }])
      expect(await store.advanceDelivery(id, fencingToken, { chunksSent: 3, platformId: null })).toBe(false)
    })

    it('never returns deliveries that were only recorded', async () => {
      const { store } = opened
      await post(
        store,
        newDelivery({ status: 'failed', reason: 'no recipient' }),
        newDelivery({ status: 'skipped', reason: 'acknowledged' }),
      )
      expect(await claimDeliveries(store)).toEqual([])
      expect(await store.getNextDeliveryAt()).toBeUndefined()
      expect(await store.listRunDeliveries(['run-of-nobody'])).toMatchObject([
        { status: 'failed', reason: 'no recipient' },
        { status: 'skipped' },
      ])
    })

    it('recovers deliveries of a dead worker, and refuses its fencing token', async () => {
      const { store } = opened
      await post(store, newDelivery())
      const before = await claimDelivery(store)
      expect(await store.recoverExpiredDeliveries(start + 59_999)).toEqual([])
      const [recovered] = await store.recoverExpiredDeliveries(start + 60_000)
      expect(recovered).toMatchObject({ id: before.id, status: 'sending' })
      expect(await store.recoverExpiredDeliveries(start + 60_000)).toEqual([])
      expect(await store.endDelivery(before.id, before.fencingToken, sent, start)).toBe(false)
      expect(await store.advanceDelivery(before.id, before.fencingToken, { chunksSent: 1, platformId: null })).toBe(
        false,
      )
      expect(
        await store.endDelivery(
          recovered!.id,
          recovered!.fencingToken,
          { status: 'unknown', reason: 'interrupted' },
          start,
        ),
      ).toBe(true)
      expect(await store.endDelivery(recovered!.id, recovered!.fencingToken, sent, start)).toBe(false)
    })

    it('recovers the deliveries of an account that another owner has taken over', async () => {
      const { store } = opened
      const [own, others, elsewhere] = [newDelivery(), newDelivery({ to: '43' }), newDelivery({ accountId: 'work' })]
      await post(store, own)
      await claimDeliveries(store, { owner: 'me' })
      await post(store, others, elsewhere)
      const claimed = await claimDeliveries(store, { owner: 'other' })
      expect(ids(claimed)).toEqual(ids([others, elsewhere]))
      const { channel, accountId } = others
      const recovered = await store.recoverExpiredDeliveries(start, { channel, accountId, owner: 'me' })
      expect(ids(recovered)).toEqual([others.id])
      expect(await store.endDelivery(others.id, claimed[0]!.fencingToken, sent, start)).toBe(false)
    })

    it('leaves the deliveries of some accounts to others', async () => {
      const { store } = opened
      const [mine, others] = [newDelivery(), newDelivery({ accountId: 'work' })]
      await post(store, others, mine)
      const except = [{ channel: others.channel, accountId: 'work' }]
      expect(ids(await claimDeliveries(store, { except }))).toEqual([mine.id])
      expect(await store.getNextDeliveryAt(except)).toBeUndefined()
      expect(await store.getNextDeliveryAt()).toBe(0)
    })

    it('releases the leases of a process that is gone', async () => {
      await post(opened.store, newDelivery())
      await claimDeliveries(opened.store)
      await opened.reopen()
      await opened.store.expireLeases()
      expect(await opened.store.recoverExpiredDeliveries(start)).toHaveLength(1)
    })

    it('returns when the next delivery is due: the head of a lane', async () => {
      const { store } = opened
      expect(await store.getNextDeliveryAt()).toBeUndefined()
      await post(store, newDelivery(), newDelivery())
      expect(await store.getNextDeliveryAt()).toBe(0)
      await claimDeliveries(store)
      expect(await store.getNextDeliveryAt()).toBeUndefined()
    })
  })
}
