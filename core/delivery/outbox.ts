// The outbox: claims deliveries from the store, in order for each recipient, sends them, and records the outcome.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import { createPoller } from '../store/poller.ts'
import { retryUntilStored } from '../store/retry-until-stored.ts'
import type { Store, StoredDelivery } from '../store/store.ts'
import type { Connections } from './connections.ts'
import { defaultLimits, interrupted, type OutboxLimits, sendDelivery } from './send-delivery.ts'

export interface Outbox {
  /** Looks for deliveries that are due. */
  notify(): void
  /** Recovers the deliveries of an earlier process, then starts sending. */
  resume(): Promise<void>
  /** Sends what is due for at most `ms`, then stops. The rest is sent after the next start. */
  close(ms: number): Promise<void>
}

interface OutboxDeps {
  store: Store
  connections: Connections
  owner: string
  limits?: OutboxLimits
  log: Log
}

const maxParallel = 16
const leaseMs = 120_000

export function createOutbox({ store, connections, owner, limits = defaultLimits, log }: OutboxDeps): Outbox {
  const sending = new Set<Promise<void>>()
  let isClosing = false

  const claim = async (): Promise<void> => {
    const max = maxParallel - sending.size
    if (max <= 0) return
    const claimed = await store.claimDeliveries({ owner, max, at: Date.now(), leaseMs })
    if (isClosing) return await release(claimed)
    for (const delivery of claimed) start(delivery)
    if (claimed.length === max) return
    const next = await store.getNextDeliveryAt()
    // It may have become due since the claim.
    if (next !== undefined) poller.notifyIn(Math.min(Math.max(0, next - Date.now()), limits.longestBackoffMs))
  }
  const poller = createPoller({ claim, retryMs: limits.firstBackoffMs, log })

  /** Releases deliveries that were claimed during the stop and not sent. An uncertain delivery stays uncertain. */
  const release = async (deliveries: readonly StoredDelivery[]): Promise<void> => {
    const reason = 'The gateway stopped before it was sent.'
    for (const { id, fencingToken, uncertain } of deliveries)
      await store.endDelivery(id, fencingToken, { status: 'retry', reason, nextAt: Date.now(), uncertain }, Date.now())
  }

  const start = (delivery: StoredDelivery): void => {
    const done = attempt(delivery)
      .catch((error: Error) =>
        log.error({ deliveryId: delivery.id, ...describeError(error) }, 'could not record a delivery'),
      )
      .finally(() => {
        sending.delete(done)
        poller.notify()
      })
    sending.add(done)
  }

  const attempt = async (delivery: StoredDelivery): Promise<void> => {
    const { id, fencingToken, channel, accountId } = delivery
    // A message that was sent cannot be undone, so its outcome is retried until the store is available.
    const retry = { everyMs: limits.firstBackoffMs, isGivenUp: () => isClosing }
    const advance = (chunksSent: number) =>
      retryUntilStored(() => store.advanceDelivery(id, fencingToken, chunksSent), retry)
    const end = await sendDelivery(delivery, { link: connections.get(channel, accountId), limits, advance })
    if (end.status !== 'sent')
      log.warn({ deliveryId: id, channel, status: end.status, reason: end.reason }, 'delivery not sent')
    await retryUntilStored(() => store.endDelivery(id, fencingToken, end, Date.now()), retry)
  }

  /** Resolves when no delivery is being sent and none is due. */
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
      isClosing = true
      await poller.close()
    },
  }
}
