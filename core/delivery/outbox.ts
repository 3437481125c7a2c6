// The outbox: takes what must be said from the store, in order per recipient, has it sent, and records what became of it.
import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import type { Log } from '../plugin.ts'
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
  let timer: NodeJS.Timeout | undefined
  let claiming: Promise<void> | undefined
  let claimAgain = false
  let closing = false

  const ring = (): void => {
    if (claiming) claimAgain = true
    else if (!closing) claiming = claimAll()
  }

  const claimAll = async (): Promise<void> => {
    try {
      do {
        claimAgain = false
        await claim()
      } while (claimAgain && !closing)
    } catch (error) {
      log.error({ error: (error as Error).name }, 'could not claim messages')
      wakeIn(limits.firstBackoff)
    } finally {
      claiming = undefined
    }
  }

  const claim = async (): Promise<void> => {
    const max = parallel - sending.size
    if (max <= 0) return
    const claimed = await store.claimMessages({ owner, max, at: Date.now(), leaseMs })
    if (closing) return await giveBack(claimed)
    for (const message of claimed) begin(message)
    if (claimed.length === max) return
    const next = await store.nextMessageAt()
    // It may have become due since it was not handed out: then at once.
    if (next !== undefined) wakeIn(Math.max(0, next - Date.now()))
  }

  /** The stop came between the claim and the sending: for certain, nothing was sent. */
  const giveBack = async (messages: readonly StoredMessage[]): Promise<void> => {
    const end = { status: 'retry', reason: 'The gateway stopped before it was sent.', nextAt: Date.now(), uncertain: false } as const
    for (const { id, fence } of messages) await store.endMessage(id, fence, end, Date.now())
  }

  const begin = (message: StoredMessage): void => {
    const done = deliver(message)
      .catch((error: Error) => log.error({ messageId: message.id, error: error.name }, 'could not record a delivery'))
      .finally(() => {
        sending.delete(done)
        ring()
      })
    sending.add(done)
  }

  const deliver = async (message: StoredMessage): Promise<void> => {
    const advance = (chunksSent: number) => insist(() => store.advanceMessage(message.id, message.fence, chunksSent))
    const end = await sendMessage(message, { link: connections.get(message.channel, message.accountId), limits, advance })
    if (end.status !== 'sent') log.warn({ messageId: message.id, channel: message.channel, status: end.status, reason: end.reason }, 'message not sent')
    await insist(() => store.endMessage(message.id, message.fence, end, Date.now()))
  }

  /** What the platform did can't be undone, so it is recorded however long the store is away; after a stop the next start finds out. */
  const insist = async <Result>(write: () => Promise<Result>): Promise<Result> => {
    for (;;) {
      try {
        return await write()
      } catch (error) {
        if (closing || !(error instanceof GatewayError)) throw error
        await delay(limits.firstBackoff, undefined, { ref: false })
      }
    }
  }

  const wakeIn = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(ring, Math.min(ms, limits.longestBackoff)).unref()
  }

  /** Resolves when nothing is being sent and nothing more is due. */
  const drained = async (): Promise<void> => {
    ring()
    while (claiming || sending.size > 0) await Promise.race([...sending, ...(claiming ? [claiming] : [])])
  }

  return {
    ring,
    resume: async () => {
      for (const { id, fence } of await store.reapMessages(Date.now())) {
        await store.endMessage(id, fence, { status: 'retry', reason: interrupted, nextAt: Date.now(), uncertain: true }, Date.now())
      }
      ring()
    },
    close: async (ms) => {
      await Promise.race([drained(), delay(ms, undefined, { ref: false })])
      closing = true
      clearTimeout(timer)
      await claiming
    },
  }
}
