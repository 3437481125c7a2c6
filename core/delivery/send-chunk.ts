// Sends one chunk of a delivery. One whose answer was lost goes out again only where that cannot double it.
import type { Channel, Connection, SendResult } from '../plugin.ts'
import type { StoredDelivery } from '../store/store.ts'

export interface Chunk {
  channel: Channel
  connection: Connection
  delivery: Pick<StoredDelivery, 'to' | 'threadId' | 'route' | 'reason'>
  text: string
  /** The same for every attempt of this very chunk. */
  key: string
  /** True: an earlier attempt may have brought it to the platform. */
  uncertain: boolean
}

/**
 * `open`: it may have arrived; trying again later is safe, since the key is then asked for first or makes doubles
 * impossible. `inFlight`: the channel never came back, so it may even arrive yet.
 */
export type ChunkEnd = SendResult | { outcome: 'open'; detail: string; inFlight?: boolean }

/** @param ms how long the platform may take for an answer */
export async function sendChunk(chunk: Chunk, ms: number): Promise<ChunkEnd> {
  if (chunk.uncertain) {
    const fate = await lookUp(chunk, ms)
    if (fate !== 'absent' && fate !== 'repeatable') return endOf(fate, chunk.delivery.reason ?? lost)
  }
  const result = await send(chunk, ms)
  if (result === late) return endOfLate(await lookUp(chunk, ms))
  return result.outcome === 'unknown' ? endOf(await lookUp(chunk, ms), result.detail) : result
}

/** What is not there yet may still be on its way: it is asked for once more before it goes out again. */
function endOfLate(fate: Fate): ChunkEnd {
  const detail = 'The platform did not answer in time.'
  return fate === 'absent' ? { outcome: 'open', detail, inFlight: true } : endOf(fate, detail)
}

const lost = 'Nobody knows whether the delivery arrived.'

/**
 * What the platform knows of a chunk. `repeatable`: it drops doubles by our key. `unasked`: it could not be asked now.
 */
type Fate = 'sent' | 'absent' | 'unknown' | 'repeatable' | 'unasked'

function endOf(fate: Fate, detail: string): ChunkEnd {
  if (fate === 'sent') return { outcome: 'sent' }
  if (fate === 'absent') return { outcome: 'failed', reason: 'transient', detail }
  return { outcome: fate === 'unknown' ? 'unknown' : 'open', detail }
}

async function lookUp({ channel, connection, delivery, key }: Chunk, ms: number): Promise<Fate> {
  const { idempotency } = channel.limits
  if (idempotency === 'native') return 'repeatable'
  if (idempotency === 'none' || !connection.reconcile) return 'unknown'
  const asked = async (): Promise<unknown> => await connection.reconcile?.(key, delivery.to)
  const answer = await within(asked(), ms).catch(() => late)
  if (answer === late) return 'unasked'
  return answer === 'sent' || answer === 'absent' ? answer : 'unknown'
}

async function send({ connection, delivery, text, key }: Chunk, ms: number): Promise<SendResult | typeof late> {
  const { to, threadId, route } = delivery
  const attempt = async (): Promise<unknown> =>
    await connection.send({ key, to, text, ...(threadId !== null && { threadId }), ...(route !== null && { route }) })
  try {
    const answer = await within(attempt(), ms)
    return answer === late ? late : understood(answer)
  } catch {
    // A plugin that throws has said nothing about what the platform did.
    return { outcome: 'unknown', detail: 'The channel failed while sending.' }
  }
}

/** The answer of a plugin, which may be anything. */
function understood(answer: unknown): SendResult {
  const result = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Record<string, unknown>>
  const detail = typeof result['detail'] === 'string' ? result['detail'] : 'The channel did not say why.'
  if (result['outcome'] === 'sent') return { outcome: 'sent', ...(isId(result['id']) && { id: String(result['id']) }) }
  if (result['outcome'] === 'failed' && reasons.has(result['reason']))
    return { ...(result as Extract<SendResult, { outcome: 'failed' }>), detail }
  return {
    outcome: 'unknown',
    detail: result['outcome'] === 'unknown' ? detail : 'The channel gave an answer that means nothing.',
  }
}

const isId = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

const reasons: ReadonlySet<unknown> = new Set(['permanent', 'auth', 'rate', 'transient'])

const late = Symbol('late')

async function within<Value>(work: Promise<Value>, ms: number): Promise<Value | typeof late> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<typeof late>((resolve) => {
    timer = setTimeout(resolve, ms, late)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
  }
}
