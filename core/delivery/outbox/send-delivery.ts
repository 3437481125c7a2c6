// Sends one delivery, chunk by chunk from where it stopped, and returns whether it has ended or when to retry it.
import { describeThrown } from '../../errors.ts'
import type { Channel, Log } from '../../plugin/plugin.ts'
import type { DeliveryEnd, DeliveryFile, StoredDelivery } from '../../store/store.ts'
import { splitIntoChunks } from '../format/chunks.ts'
import type { Link } from '../connections/connections.ts'
import { type Chunk, type ChunkEnd, chunkKeyOf, sendChunk } from './send-chunk.ts'

/** Time limits for deliveries. */
export interface OutboxLimits {
  /** How long a platform may take to respond before the outcome is unknown. */
  sendMs: number
  firstBackoffMs: number
  longestBackoffMs: number
  /** Age at which a delivery is no longer retried. It stays as failed, and an operator can retry it. */
  giveUpMs: number
}

export const defaultLimits: OutboxLimits = {
  sendMs: 30_000,
  firstBackoffMs: 1_000,
  longestBackoffMs: 300_000,
  giveUpMs: 6 * 60 * 60_000,
}

/** Age up to which a delivery waits for its account, which may be off for a moment or not be known here yet. */
const missingAccountMs = 10 * 60_000

/** Longest wait for a channel to connect, so that the delivery is sent soon afterwards. */
const longestUnconnectedMs = 30_000

export const interrupted = 'The gateway stopped while sending, so it is unknown whether the delivery arrived.'

/** Reads a file for a channel. Throws `InputError` if it is gone or larger than `maxBytes`. */
export type ReadFile = (file: DeliveryFile, maxBytes: number) => Promise<Uint8Array>

interface Sending {
  /** Absent: the account is not configured. */
  link: Pick<Link, 'channel' | 'connection'> | undefined
  limits: OutboxLimits
  /** Stores how many chunks have been sent, and the id of the last. False: another process holds the delivery. */
  advance(chunksSent: number, platformId: string | null): Promise<boolean>
  readFile: ReadFile
  /** Logs the errors of the channel. */
  log: Log
}

export async function sendDelivery(delivery: StoredDelivery, sending: Sending): Promise<AttemptEnd> {
  const { link, limits, advance, log } = sending
  if (!link) return waitForAccount(delivery, limits, 'The account of the channel is not configured.')
  const { channel, connection } = link
  if (!connection)
    return retry(
      { delivery, limits },
      { reason: 'The channel is not connected.', uncertain: delivery.uncertain, maxWaitMs: longestUnconnectedMs },
    )
  const messages = await splitIntoMessages(delivery, { ...sending, channel }).catch((error: unknown) => {
    log.error(describeThrown(error), 'a message could not be prepared')
    return undefined
  })
  if (!messages) return { status: 'failed', reason: 'The message could not be prepared for the channel.' }
  let { platformId } = delivery
  for (const [index, message] of messages.entries()) {
    if (index < delivery.chunksSent) continue
    const uncertain = delivery.uncertain && index === delivery.chunksSent
    const chunk = { channel, connection, delivery, ...message, key: chunkKeyOf(delivery.id, index), uncertain, log }
    const result = await sendChunk(chunk, message.readFile ? limits.sendMs * fileFactor : limits.sendMs)
    if (result.outcome !== 'sent') return endOf(result, { delivery, limits })
    platformId = result.id ?? platformId
    const more = index + 1 < messages.length
    if (more && !(await advance(index + 1, result.id ?? null))) return { status: 'unknown', reason: interrupted }
  }
  return { status: 'sent', platformId }
}

export const waitForAccount = (delivery: StoredDelivery, limits: OutboxLimits, reason: string): DeliveryEnd =>
  retry(
    { delivery, limits: { ...limits, giveUpMs: Math.min(limits.giveUpMs, missingAccountMs) } },
    { reason, uncertain: delivery.uncertain, maxWaitMs: 5_000 },
  )

/** Files take longer to send than texts. */
const fileFactor = 4

/** Longest caption, unless the channel says less; a longer text is sent before the file. */
const maxCaptionLength = 1000

type Message = Pick<Chunk, 'text' | 'ranges' | 'choices' | 'readFile'>

/** The chunks of the text, and the file, in the order in which they are sent. Choices are below the last chunk. */
async function splitIntoMessages(
  { text, file, choices }: StoredDelivery,
  { channel, readFile }: Pick<Sending, 'readFile'> & { channel: Channel },
): Promise<Message[]> {
  const chunks = await splitIntoChunks(text, channel.limits)
  if (!file) return addChoices(chunks, choices, channel)
  const { name, type } = file
  const read = async (): ReturnType<NonNullable<Chunk['readFile']>> => ({
    name,
    type,
    data: await readFile(file, channel.limits.maxFileBytes ?? 0),
  })
  const [caption = { text: '' }] = chunks
  const maxCaption = Math.min(maxCaptionLength, channel.limits.maxCaption ?? maxCaptionLength)
  if (chunks.length > 1 || caption.text.length > maxCaption) return [...chunks, { text: '', readFile: read }]
  return [{ ...caption, readFile: read }]
}

function addChoices(
  messages: readonly Message[],
  choices: StoredDelivery['choices'],
  { limits: { maxChoices = 0 } }: Channel,
): Message[] {
  const last = messages.at(-1)
  if (!last || !choices || choices.length > maxChoices) return [...messages]
  return [...messages.slice(0, -1), { ...last, choices }]
}

/** `isLimited`: the platform has asked to wait. */
export type AttemptEnd = DeliveryEnd & { isLimited?: boolean }

interface Attempt {
  delivery: StoredDelivery
  limits: OutboxLimits
}

function endOf(result: Exclude<ChunkEnd, { outcome: 'sent' }>, attempt: Attempt): AttemptEnd {
  const reason = result.detail
  if (result.outcome === 'unknown') return { status: 'unknown', reason }
  if (result.outcome === 'open')
    return retry(attempt, { reason, uncertain: true, afterMs: result.inFlight ? attempt.limits.sendMs : undefined })
  const isPassing = result.reason === 'rate' || result.reason === 'transient'
  if (!isPassing) return { status: 'failed', reason }
  const end = retry(attempt, { reason, uncertain: false, afterMs: waitMsOf(result) })
  return result.reason === 'rate' ? { ...end, isLimited: true } : end
}

/** How long the platform asks to wait. */
function waitMsOf({ retryAfterMs, resetAt }: { retryAfterMs?: number | undefined; resetAt?: number | undefined }) {
  const waits = [retryAfterMs, resetAt === undefined ? undefined : resetAt - Date.now()].filter(Number.isFinite)
  return waits.length > 0 ? Math.max(...(waits as number[])) : undefined
}

interface Retry {
  reason: string
  uncertain: boolean
  /** How long the platform asked to wait. */
  afterMs?: number | undefined
  /** Limits the backoff. */
  maxWaitMs?: number
}

function retry(
  { delivery, limits }: Attempt,
  { reason, uncertain, afterMs, maxWaitMs = limits.longestBackoffMs }: Retry,
): DeliveryEnd {
  const requestedMs = Number.isFinite(afterMs) ? Math.max(Number(afterMs), limits.firstBackoffMs) : undefined
  const nextAt = Math.ceil(Date.now() + (requestedMs ?? Math.min(backoffMs(delivery.attempt, limits), maxWaitMs)))
  if (nextAt - delivery.createdAt <= limits.giveUpMs) return { status: 'retry', reason, nextAt, uncertain }
  return { status: uncertain ? 'unknown' : 'failed', reason }
}

/** Exponential with jitter, so that deliveries that failed together are not retried together. */
function backoffMs(attempt: number, { firstBackoffMs, longestBackoffMs }: OutboxLimits): number {
  return (
    firstBackoffMs / 2 + Math.random() * Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.min(attempt - 1, 20))
  )
}
