// Sends one chunk or the file of a delivery. If the response was lost, it is sent again only if that cannot duplicate
// it.
import { withDeadline } from '../../deadline.ts'
import { isInputError } from '../../plugin/errors.ts'
import { describeThrown } from '../../errors.ts'
import type { Channel, Connection, Log, OutboundMessage, SendResult, UncertainMessage } from '../../plugin/plugin.ts'
import type { StoredDelivery } from '../../store/store.ts'
import { readSendResult } from './read-send-result.ts'

export interface Chunk {
  channel: Channel
  connection: Connection
  delivery: Pick<StoredDelivery, 'to' | 'threadId' | 'route' | 'reason' | 'file' | 'attemptedAt' | 'createdAt'>
  text: string
  ranges?: OutboundMessage['ranges']
  choices?: OutboundMessage['choices']
  /** Reads the file that is sent with the text. Throws `InputError` if there is no such file any more. */
  readFile?: (() => Promise<NonNullable<OutboundMessage['file']>>) | undefined
  /** Idempotency key, the same for every attempt at this chunk. Platforms may return it. */
  key: string
  /** True: an earlier attempt may have reached the platform. */
  uncertain: boolean
  log: Log
}

/**
 * `open`: it may have arrived. Retrying is safe, because the platform is first asked for the key or drops duplicates by
 * it. `inFlight`: the channel did not respond, so the chunk may still arrive.
 */
export type ChunkEnd = SendResult | { outcome: 'open'; detail: string; inFlight?: boolean }

/** @param timeoutMs how long the platform may take to respond */
export async function sendChunk(chunk: Chunk, timeoutMs: number): Promise<ChunkEnd> {
  if (chunk.uncertain) {
    const fate = await lookUp(chunk, timeoutMs)
    if (fate !== 'absent' && fate !== 'repeatable') return endOf(fate, chunk.delivery.reason ?? lost)
  }
  const result = await send(chunk, timeoutMs)
  if (result === 'late') return endOfLate(await lookUp(chunk, timeoutMs))
  return result.outcome === 'unknown' ? endOf(await lookUp(chunk, timeoutMs), result.detail) : result
}

/** A chunk that is absent may still be in flight: the platform is asked again before it is sent again. */
function endOfLate(fate: Fate): ChunkEnd {
  const detail = 'The platform did not answer in time.'
  return fate === 'absent' ? { outcome: 'open', detail, inFlight: true } : endOf(fate, detail)
}

const lost = 'It is unknown whether the delivery arrived.'

/**
 * What the platform knows about a chunk. `repeatable`: it drops duplicates by key. `unasked`: it could not be asked.
 */
type Fate = 'sent' | 'absent' | 'unknown' | 'repeatable' | 'unasked'

function endOf(fate: Fate, detail: string): ChunkEnd {
  if (fate === 'sent') return { outcome: 'sent' }
  if (fate === 'absent') return { outcome: 'failed', reason: 'transient', detail }
  return { outcome: fate === 'unknown' ? 'unknown' : 'open', detail }
}

async function lookUp(chunk: Chunk, timeoutMs: number): Promise<Fate> {
  const { channel, connection, log } = chunk
  const { idempotency } = channel.limits
  if (idempotency === 'native') return 'repeatable'
  if (idempotency === 'none' || !connection.reconcile) return 'unknown'
  const ask = async () => await connection.reconcile?.(describeUncertain(chunk))
  try {
    const answer = await withDeadline({ ms: timeoutMs, reason: late }, ask)
    if (answer === 'sent' || answer === 'absent' || answer === 'unknown') return answer
    log.error({ returned: typeof answer }, "reconcile must return 'sent', 'absent' or 'unknown'")
    return 'unknown'
  } catch (error) {
    log.warn(describeThrown(error), 'the channel could not look up a message')
    return 'unasked'
  }
}

function describeUncertain(chunk: Chunk): UncertainMessage {
  const { delivery, readFile: hasFile } = chunk
  const { file, attemptedAt, createdAt } = delivery
  return {
    ...describeMessage(chunk),
    ...(hasFile && file && { file: { name: file.name, type: file.type } }),
    firstAttemptAt: attemptedAt ?? createdAt,
  }
}

function describeMessage({ delivery: { to, threadId, route }, key, text, ranges, choices }: Chunk): OutboundMessage {
  const content = { text, ...(ranges && { ranges }), ...(choices && { choices }) }
  return { key, to, ...content, ...(threadId !== null && { threadId }), ...(route !== null && { route }) }
}

async function send(chunk: Chunk, timeoutMs: number): Promise<SendResult | 'late'> {
  const { connection, log } = chunk
  const file = await readFile(chunk)
  if (file && 'outcome' in file) return file
  const message = describeMessage(chunk)
  const attempt = async (): Promise<unknown> => await connection.send({ ...message, ...(file && { file }) })
  try {
    return readSendResult(await withDeadline({ ms: timeoutMs, reason: late }, attempt), log)
  } catch (error) {
    if (error instanceof LateError) return 'late'
    log.error(describeThrown(error), 'the channel failed while sending')
    // If a plugin throws, it is unknown what the platform did.
    return { outcome: 'unknown', detail: 'The channel failed while sending.' }
  }
}

/** The file is read for each attempt, so that it is not held in memory while the delivery waits. */
async function readFile({ readFile: read }: Chunk): Promise<OutboundMessage['file'] | SendResult> {
  try {
    return await read?.()
  } catch (error) {
    const isGone = isInputError(error)
    const detail = isGone ? `The file cannot be sent: ${error.message}` : 'The file could not be read.'
    return { outcome: 'failed', reason: isGone ? 'permanent' : 'transient', detail }
  }
}

class LateError extends Error {
  override readonly name = 'LateError'
}

const late = (): LateError => new LateError('the channel did not answer in time')

// ── Keys ────────────────────────────────────────────────────────────────────────────────────────

export const chunkKeyOf = (deliveryId: string, chunk: number): string => `${deliveryId}:${chunk}`

/** Undefined if it is no such key: platforms also report on messages that the gateway has not sent. */
export function parseChunkKey(key: unknown): { deliveryId: string; chunk: number } | undefined {
  const [, deliveryId, chunk] = typeof key === 'string' ? (/^(.+):(\d{1,9})$/.exec(key) ?? []) : []
  return deliveryId === undefined ? undefined : { deliveryId, chunk: Number(chunk) }
}
