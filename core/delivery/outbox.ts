// The outbox: takes what must be said from the store, in order per recipient, has it sent, and records what became of it.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import { createClaims } from '../store/claims.ts'
import { insist } from '../store/insist.ts'
import type { Store, StoredMessage } from '../store/store.ts'
import type { Connections } from './connections.ts'
import { defaultLimits, interrupted, type OutboxLimits, sendMessage } from './send-message.ts'

export interface Outbox {
  /** There may be something to send. */
  ring(): void
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
    const claimed = await store.claimMessages({ owner, max, at: Date.now(), leaseMs })
    if (closing) return await giveBack(claimed)
    for (const message of claimed) begin(message)
    if (claimed.length === max) return
    const next = await store.nextMessageAt()
    // It may have become due since it was not handed out: then at once.
    if (next !== undefined) claims.ringIn(Math.min(Math.max(0, next - Date.now()), limits.longestBackoff))
  }
  const claims = createClaims({ claim, retryMs: limits.firstBackoff, log })

  /** The stop came between the claim and the sending: nothing was sent this time, and what was unclear before still is. */
  const giveBack = async (messages: readonly StoredMessage[]): Promise<void> => {
    const reason = 'The gateway stopped before it was sent.'
    for (const { id, fence, uncertain } of messages) await store.endMessage(id, fence, { status: 'retry', reason, nextAt: Date.now(), uncertain }, Date.now())
  }

  const begin = (message: StoredMessage): void => {
    const done = deliver(message)
      .catch((error: Error) => log.error({ messageId: message.id, ...describeError(error) }, 'could not record a delivery'))
      .finally(() => {
        sending.delete(done)
        claims.ring()
      })
    sending.add(done)
  }

  const deliver = async (message: StoredMessage): Promise<void> => {
    const { id, fence, channel, accountId } = message
    // What the platform did can't be undone, so it is recorded however long the store is away.
    const patience = { everyMs: limits.firstBackoff, givenUp: () => closing }
    const advance = (chunksSent: number) => insist(() => store.advanceMessage(id, fence, chunksSent), patience)
    const end = await sendMessage(message, { link: connections.get(channel, accountId), limits, advance })
    if (end.status !== 'sent') log.warn({ messageId: id, channel, status: end.status, reason: end.reason }, 'message not sent')
    await insist(() => store.endMessage(id, fence, end, Date.now()), patience)
  }

  /** Resolves when nothing is being sent and nothing more is due. */
  const drained = async (): Promise<void> => {
    claims.ring()
    await claims.settled()
    while (sending.size > 0) {
      await Promise.race(sending)
      await claims.settled()
    }
  }

  return {
    ring: claims.ring,
    resume: async () => {
      for (const { id, fence } of await store.reapMessages(Date.now())) {
        await store.endMessage(id, fence, { status: 'retry', reason: interrupted, nextAt: Date.now(), uncertain: true }, Date.now())
      }
      claims.ring()
    },
    close: async (ms) => {
      await Promise.race([drained(), delay(ms, undefined, { ref: false })])
      closing = true
      await claims.close()
    },
  }
}
