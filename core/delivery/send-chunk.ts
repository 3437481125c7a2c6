// Sends one chunk of a delivery. If its response was lost, it is sent again only if that cannot duplicate it.
import type { Channel, Connection, SendResult } from '../plugin.ts'
import type { StoredDelivery } from '../store/store.ts'

export interface Chunk {
  channel: Channel
  connection: Connection
  delivery: Pick<StoredDelivery, 'to' | 'threadId' | 'route' | 'reason'>
  text: string
  /** Idempotency key, the same for every attempt at this chunk. */
  key: string
  /** True: an earlier attempt may have reached the platform. */
  uncertain: boolean
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
  if (result === late) return endOfLate(await lookUp(chunk, timeoutMs))
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

async function lookUp({ channel, connection, delivery, key }: Chunk, timeoutMs: number): Promise<Fate> {
  const { idempotency } = channel.limits
  if (idempotency === 'native') return 'repeatable'
  if (idempotency === 'none' || !connection.reconcile) return 'unknown'
  const ask = async (): Promise<unknown> => await connection.reconcile?.(key, delivery.to)
  const answer = await withTimeout(ask(), timeoutMs).catch(() => late)
  if (answer === late) return 'unasked'
  return answer === 'sent' || answer === 'absent' ? answer : 'unknown'
}

async function send({ connection, delivery, text, key }: Chunk, timeoutMs: number): Promise<SendResult | typeof late> {
  const { to, threadId, route } = delivery
  const attempt = async (): Promise<unknown> =>
    await connection.send({ key, to, text, ...(threadId !== null && { threadId }), ...(route !== null && { route }) })
  try {
    const answer = await withTimeout(attempt(), timeoutMs)
    return answer === late ? late : readSendResult(answer)
  } catch {
    // If a plugin throws, it is unknown what the platform did.
    return { outcome: 'unknown', detail: 'The channel failed while sending.' }
  }
}

/** Validates the result of a plugin, which may be anything. */
function readSendResult(answer: unknown): SendResult {
  const result = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Record<string, unknown>>
  const detail = typeof result['detail'] === 'string' ? result['detail'] : 'The channel did not say why.'
  if (result['outcome'] === 'sent') return { outcome: 'sent', ...(isId(result['id']) && { id: String(result['id']) }) }
  if (result['outcome'] === 'failed' && reasons.has(result['reason']))
    return { ...(result as Extract<SendResult, { outcome: 'failed' }>), detail }
  return {
    outcome: 'unknown',
    detail: result['outcome'] === 'unknown' ? detail : 'The channel returned an invalid result.',
  }
}

const isId = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

const reasons: ReadonlySet<unknown> = new Set(['permanent', 'auth', 'rate', 'transient'])

const late = Symbol('late')

async function withTimeout<Value>(work: Promise<Value>, timeoutMs: number): Promise<Value | typeof late> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<typeof late>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, late)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
