// Sends one delivery of the outbox, chunk by chunk from where it stopped, and says how the attempt ended: over, or to
// be repeated when.
import type { DeliveryEnd, StoredDelivery } from '../store/store.ts'
import { splitIntoChunks } from './chunks.ts'
import type { Link } from './connections.ts'
import { type ChunkEnd, sendChunk } from './send-chunk.ts'

/** Bounds on sending, in milliseconds. */
export interface OutboxLimits {
  /** A platform that does not answer in this time has left the outcome unknown. */
  send: number
  firstBackoff: number
  longestBackoff: number
  /** A delivery that could not be sent for this long is given up: it stays as failed, for an operator to retry. */
  giveUp: number
}

export const defaultLimits: OutboxLimits = {
  send: 30_000,
  firstBackoff: 1_000,
  longestBackoff: 300_000,
  giveUp: 6 * 60 * 60_000,
}

/** Longest wait of a delivery for its channel to connect: it should go soon after that. */
const longestUnconnectedMs = 30_000

export const interrupted = 'The gateway stopped while sending, so nobody knows whether the delivery arrived.'

interface Sending {
  /** Absent: the account is not configured any more. */
  link: Pick<Link, 'channel' | 'connection'> | undefined
  limits: OutboxLimits
  /** Stores how many chunks are with the platform for certain; false: somebody else holds the delivery. */
  advance(chunksSent: number): Promise<boolean>
}

export async function sendDelivery(delivery: StoredDelivery, { link, limits, advance }: Sending): Promise<DeliveryEnd> {
  if (!link) return { status: 'failed', reason: 'The account of the channel is not configured.' }
  const { channel, connection } = link
  if (!connection)
    return retry(
      { delivery, limits },
      { reason: 'The channel is not connected.', uncertain: delivery.uncertain, atMost: longestUnconnectedMs },
    )
  const chunks = splitIntoChunks(delivery.text, channel.limits.maxText)
  let { platformId } = delivery
  for (let index = delivery.chunksSent; index < chunks.length; index++) {
    const uncertain = delivery.uncertain && index === delivery.chunksSent
    const chunk = {
      channel,
      connection,
      delivery,
      text: chunks[index] as string,
      key: `${delivery.id}:${index}`,
      uncertain,
    }
    const result = await sendChunk(chunk, limits.send)
    if (result.outcome !== 'sent') return endOf(result, { delivery, limits })
    platformId = result.id ?? platformId
    const more = index + 1 < chunks.length
    if (more && !(await advance(index + 1))) return { status: 'unknown', reason: interrupted }
  }
  return { status: 'sent', platformId }
}

interface Trial {
  delivery: StoredDelivery
  limits: OutboxLimits
}

function endOf(result: Exclude<ChunkEnd, { outcome: 'sent' }>, trial: Trial): DeliveryEnd {
  const reason = result.detail
  if (result.outcome === 'unknown') return { status: 'unknown', reason }
  if (result.outcome === 'open')
    return retry(trial, { reason, uncertain: true, afterMs: result.inFlight ? trial.limits.send : undefined })
  const repeatable = result.reason === 'rate' || result.reason === 'transient'
  return repeatable
    ? retry(trial, { reason, uncertain: false, afterMs: result.retryAfterMs })
    : { status: 'failed', reason }
}

interface Again {
  reason: string
  uncertain: boolean
  /** How long the platform wants us to wait, in milliseconds. */
  afterMs?: number | undefined
  /** Longest wait of our own, in milliseconds. */
  atMost?: number
}

function retry(
  { delivery, limits }: Trial,
  { reason, uncertain, afterMs, atMost = limits.longestBackoff }: Again,
): DeliveryEnd {
  const asked = Number.isFinite(afterMs) ? Math.max(Number(afterMs), limits.firstBackoff) : undefined
  const nextAt = Math.ceil(Date.now() + (asked ?? Math.min(backoffMs(delivery.attempt, limits), atMost)))
  if (nextAt - delivery.createdAt <= limits.giveUp) return { status: 'retry', reason, nextAt, uncertain }
  return { status: uncertain ? 'unknown' : 'failed', reason }
}

/** Exponential with jitter: deliveries that failed together do not come back together. */
function backoffMs(attempt: number, { firstBackoff, longestBackoff }: OutboxLimits): number {
  return firstBackoff / 2 + Math.random() * Math.min(longestBackoff, firstBackoff * 2 ** Math.min(attempt - 1, 20))
}
