// Records that a message was not delivered although the platform had accepted it.
import { clip } from '../../kit/text.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { NewEvent, Store } from '../../store/store.ts'
import type { CreateFailureEvent } from './failure-event.ts'
import { parseChunkKey } from './send-chunk.ts'

export interface LateFailure {
  channel: string
  accountId: string
  /** The key with which the message was sent. */
  key: string
  detail: string
}

/** Resolves when the failure is stored, or when there is no such delivery of this account. */
export type ReportLateFailure = (failure: LateFailure) => Promise<void>

interface LateFailureDeps {
  store: Pick<Store, 'getDelivery' | 'failDelivery'>
  createFailureEvent: CreateFailureEvent
  onEvent(event: NewEvent): void
  /** Removes secrets from what a channel says. */
  redact(text: string): string
  log: Log
}

/** The most characters of a channel's words about a delivery. */
export const longestReason = 1_000

export function createLateFailures({
  store,
  createFailureEvent,
  onEvent,
  redact,
  log,
}: LateFailureDeps): ReportLateFailure {
  return async ({ channel, accountId, key, detail }) => {
    const { deliveryId, chunk } = parseChunkKey(key) ?? {}
    const delivery = deliveryId === undefined ? undefined : await store.getDelivery(deliveryId)
    if (delivery?.channel !== channel || delivery.accountId !== accountId || chunk === undefined)
      return log.debug({ channel, accountId }, 'a report about an unknown message was ignored')
    const reason = clip(redact(detail), longestReason)
    const event = await createFailureEvent(delivery, { status: 'failed', reason })
    if (!(await store.failDelivery(delivery.id, { chunk, reason, event }, Date.now()))) return
    log.warn({ channel, accountId, deliveryId, reason }, 'delivery failed after the platform had accepted it')
    onEvent(event)
  }
}
