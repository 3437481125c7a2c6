// The outbox: takes what must be said from the store, in order per recipient, has it sent, and records what became of
// it.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import { createPoller } from '../store/poller.ts'
import { retryUntilStored } from '../store/retry-until-stored.ts'
import type { Store, StoredDelivery } from '../store/store.ts'
import type { Connections } from './connections.ts'
import { defaultLimits, interrupted, type OutboxLimits, sendDelivery } from './send-delivery.ts'

export interface Outbox {
  /** There may be something to send. */
  notify(): void
  /** Takes up what an earlier process left, then starts sending. */
  resume(): Promise<void>
  /** Lets what is due go out for `ms`; the rest is the next start's. */
  close(ms: number): Promise<void>
}

interface OutboxDeps {
  store: Store
  connections: Connections
  owner: string
  limits?: OutboxLimits
  log: Log
}

const parallel = 16
const leaseMs = 120_000

export function createOutbox({ store, connections, owner, limits = defaultLimits, log }: OutboxDeps): Outbox {
  const sending = new Set<Promise<void>>()
  let closing = false

  const claim = async (): Promise<void> => {
    const max = parallel - sending.size
    if (max <= 0) return
    const claimed = await store.claimDeliveries({ owner, max, at: Date.now(), leaseMs })
    if (closing) return await giveBack(claimed)
    for (const delivery of claimed) begin(delivery)
    if (claimed.length === max) return
    const next = await store.getNextDeliveryAt()
    // It may have become due since it was not handed out: then at once.
    if (next !== undefined) poller.notifyIn(Math.min(Math.max(0, next - Date.now()), limits.longestBackoff))
  }
  const poller = createPoller({ claim, retryMs: limits.firstBackoff, log })

  /**
   * The stop came between the claim and the sending: nothing was sent this time, and what was unclear before still is.
   */
  const giveBack = async (deliveries: readonly StoredDelivery[]): Promise<void> => {
    const reason = 'The gateway stopped before it was sent.'
    for (const { id, fencingToken, uncertain } of deliveries)
      await store.endDelivery(id, fencingToken, { status: 'retry', reason, nextAt: Date.now(), uncertain }, Date.now())
  }

  const begin = (delivery: StoredDelivery): void => {
    const done = deliver(delivery)
      .catch((error: Error) =>
        log.error({ deliveryId: delivery.id, ...describeError(error) }, 'could not record a delivery'),
      )
      .finally(() => {
        sending.delete(done)
        poller.notify()
      })
    sending.add(done)
  }

  const deliver = async (delivery: StoredDelivery): Promise<void> => {
    const { id, fencingToken, channel, accountId } = delivery
    // What the platform did can't be undone, so it is recorded however long the store is away.
    const patience = { everyMs: limits.firstBackoff, isGivenUp: () => closing }
    const advance = (chunksSent: number) =>
      retryUntilStored(() => store.advanceDelivery(id, fencingToken, chunksSent), patience)
    const end = await sendDelivery(delivery, { link: connections.get(channel, accountId), limits, advance })
    if (end.status !== 'sent')
      log.warn({ deliveryId: id, channel, status: end.status, reason: end.reason }, 'delivery not sent')
    await retryUntilStored(() => store.endDelivery(id, fencingToken, end, Date.now()), patience)
  }

  /** Resolves when nothing is being sent and nothing more is due. */
  const drained = async (): Promise<void> => {
    poller.notify()
    await poller.settled()
    while (sending.size > 0) {
      await Promise.race(sending)
      await poller.settled()
    }
  }

  return {
    notify: poller.notify,
    resume: async () => {
      for (const { id, fencingToken } of await store.recoverExpiredDeliveries(Date.now())) {
        await store.endDelivery(
          id,
          fencingToken,
          { status: 'retry', reason: interrupted, nextAt: Date.now(), uncertain: true },
          Date.now(),
        )
      }
      poller.notify()
    },
    close: async (ms) => {
      await Promise.race([drained(), delay(ms, undefined, { ref: false })])
      closing = true
      await poller.close()
    },
  }
}
