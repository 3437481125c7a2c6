// Pauses an account whose platform limits messages to several recipients in a row. If it limits only one recipient, the
// others go on.
import type { StoredDelivery } from '../../store/store.ts'

type Sender = Pick<StoredDelivery, 'channel' | 'accountId'>

export interface Pacing {
  /** The end of the account's pause, or undefined if there is none. */
  pausedUntil(sender: Sender): number | undefined
  /** The platform accepted a message. */
  accepted(sender: Sender): void
  /** The platform asked to wait until a time. Returns true if this pauses the account. */
  limited(delivery: Sender & Pick<StoredDelivery, 'to'>, until: number): boolean
}

export function createPacing(longestPauseMs: number): Pacing {
  /** The accounts whose last messages were limited. */
  const accounts = new Map<string, { recipient: string; until: number }>()
  const keyOf = ({ channel, accountId }: Sender): string => JSON.stringify([channel, accountId])
  return {
    pausedUntil: (sender) => {
      const { until = 0 } = accounts.get(keyOf(sender)) ?? {}
      const leftMs = until - performance.now()
      return leftMs > 0 ? Math.ceil(Date.now() + leftMs) : undefined
    },
    accepted: (sender) => void accounts.delete(keyOf(sender)),
    limited: (delivery, until) => {
      const before = accounts.get(keyOf(delivery))
      const isRepeated = before !== undefined && (before.until > 0 || before.recipient !== delivery.to)
      // By the monotonic clock: the wall clock may be set back meanwhile.
      const pauseMs = Math.min(until - Date.now(), longestPauseMs)
      const pause = isRepeated ? performance.now() + pauseMs : 0
      accounts.set(keyOf(delivery), { recipient: delivery.to, until: Math.max(pause, before?.until ?? 0) })
      return isRepeated
    },
  }
}
