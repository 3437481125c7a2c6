// The part of the store's contract about the outbox: order per recipient, repeats in place, and no message handed out twice.
import { describe, expect, it } from 'vitest'
import type { OpenStore } from './store.ts'
import { claimMessage, claimMessages, newMessage, post, start } from './store-samples.ts'

const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id)
const sent = { status: 'sent', platformId: 'p1' } as const

export function outboxContract(opened: OpenStore): void {
  describe('the outbox', () => {
    it('hands out the oldest message of each lane: channel, account and recipient', async () => {
      const { store } = opened
      const first = newMessage()
      const lanes = [newMessage({ channel: 'radio' }), newMessage({ accountId: 'work' }), newMessage({ to: '43' })]
      await post(store, first, newMessage(), ...lanes)
      expect(ids(await claimMessages(store))).toEqual(ids([first, ...lanes]))
      expect(await claimMessages(store)).toEqual([])
    })

    it('keeps the order of a lane with many claimers', async () => {
      const { store } = opened
      const messages = Array.from({ length: 90 }, (_, n) => newMessage({ to: String(n % 3) }))
      await post(store, ...messages)
      const order: string[] = []
      const work = async (owner: string) => {
        while (order.length < messages.length) {
          for (const { id, fence } of await claimMessages(store, { owner, max: 2 })) {
            order.push(id)
            expect(await store.endMessage(id, fence, sent, start)).toBe(true)
          }
        }
      }
      await Promise.all(Array.from({ length: 8 }, (_, n) => work(`worker ${n}`)))
      for (const to of ['0', '1', '2']) {
        const lane = ids(messages.filter((message) => message.to === to))
        expect(order.filter((id) => lane.includes(id))).toEqual(lane)
      }
    })

    it('lets nothing overtake a message that waits for its next attempt', async () => {
      const { store } = opened
      const [first, second] = [newMessage(), newMessage()]
      await post(store, first, second)
      const claimed = await claimMessage(store)
      await store.endMessage(claimed.id, claimed.fence, { status: 'retry', reason: 'busy', nextAt: start + 1000, uncertain: true }, start)
      expect(await claimMessages(store, { at: start + 999 })).toEqual([])
      expect(await store.nextMessageAt()).toBe(start + 1000)
      const [again] = await claimMessages(store, { at: start + 1000 })
      expect(again).toMatchObject({ id: first.id, attempt: 2, uncertain: true, reason: 'busy', status: 'sending' })
      expect(again!.fence).toBeGreaterThan(claimed.fence)
    })

    it('goes on with the lane whatever a message came to', async () => {
      const { store } = opened
      const messages = [newMessage(), newMessage(), newMessage(), newMessage()]
      await post(store, ...messages)
      const ends = [sent, { status: 'failed', reason: 'gone' }, { status: 'unknown', reason: 'no answer' }] as const
      for (const [n, end] of ends.entries()) {
        const { id, fence } = await claimMessage(store)
        expect(id).toBe(messages[n]?.id)
        expect(await store.endMessage(id, fence, end, start)).toBe(true)
      }
      expect(ids(await claimMessages(store))).toEqual([messages[3]?.id])
      const ended = await store.messagesOfRun('run-of-nobody')
      expect(ended.map(({ status, reason, platformId }) => [status, reason, platformId])).toEqual([
        ['sent', null, 'p1'],
        ['failed', 'gone', null],
        ['unknown', 'no answer', null],
        ['sending', null, null],
      ])
    })

    it('counts the chunks that have arrived', async () => {
      const { store } = opened
      await post(store, newMessage())
      const { id, fence } = await claimMessage(store)
      expect(await store.advanceMessage(id, fence, 2)).toBe(true)
      await store.endMessage(id, fence, { status: 'retry', reason: 'busy', nextAt: start, uncertain: false }, start)
      expect(await claimMessages(store)).toMatchObject([{ chunksSent: 2 }])
      expect(await store.advanceMessage(id, fence, 3)).toBe(false)
    })

    it('never sends what was only recorded', async () => {
      const { store } = opened
      await post(store, newMessage({ status: 'failed', reason: 'no recipient' }), newMessage({ status: 'skipped', reason: 'acknowledged' }))
      expect(await claimMessages(store)).toEqual([])
      expect(await store.nextMessageAt()).toBeUndefined()
      expect(await store.messagesOfRun('run-of-nobody')).toMatchObject([{ status: 'failed', reason: 'no recipient' }, { status: 'skipped' }])
    })

    it('hands messages of a sender that died to whoever reaps, and refuses the old fence', async () => {
      const { store } = opened
      await post(store, newMessage())
      const before = await claimMessage(store)
      expect(await store.reapMessages(start + 59_999)).toEqual([])
      const [reaped] = await store.reapMessages(start + 60_000)
      expect(reaped).toMatchObject({ id: before.id, status: 'sending' })
      expect(await store.reapMessages(start + 60_000)).toEqual([])
      expect(await store.endMessage(before.id, before.fence, sent, start)).toBe(false)
      expect(await store.advanceMessage(before.id, before.fence, 1)).toBe(false)
      expect(await store.endMessage(reaped!.id, reaped!.fence, { status: 'unknown', reason: 'interrupted' }, start)).toBe(true)
      expect(await store.endMessage(reaped!.id, reaped!.fence, sent, start)).toBe(false)
    })

    it('gives up the leases of a process that is gone', async () => {
      await post(opened.store, newMessage())
      await claimMessages(opened.store)
      await opened.reopen()
      await opened.store.expireLeases()
      expect(await opened.store.reapMessages(start)).toHaveLength(1)
    })

    it('says when the next message is due: the head of a lane, not what waits behind it', async () => {
      const { store } = opened
      expect(await store.nextMessageAt()).toBeUndefined()
      await post(store, newMessage(), newMessage())
      expect(await store.nextMessageAt()).toBe(start)
      await claimMessages(store)
      expect(await store.nextMessageAt()).toBeUndefined()
    })
  })
}
