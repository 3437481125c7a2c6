// The outbox: sends what must be said, in order per recipient, again where that is safe, and records what became of it.
import type { Channel, Connection, Log, SendResult } from '../plugin.ts'
import type { MessageEnd, Store, StoredMessage } from '../store/store.ts'
import { chunk } from './chunks.ts'
import type { Connections } from './connections.ts'

export interface Outbox {
  /** There may be something to send. */
  ring(): void
  /** Takes up what an earlier process left, then starts sending. */
  resume(): Promise<void>
  /** Lets what is being sent finish for `ms`. */
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

/** Bounds on sending, in milliseconds. */
export interface OutboxLimits {
  /** A platform that does not answer in this time has left the outcome unknown. */
  send: number
  firstBackoff: number
  longestBackoff: number
  /** A message that could not be sent for this long is given up: it stays as failed, for an operator to retry. */
  giveUp: number
}

const defaultLimits: OutboxLimits = { send: 30_000, firstBackoff: 1_000, longestBackoff: 300_000, giveUp: 6 * 60 * 60_000 }

export function createOutbox({ limits = defaultLimits, ...rest }: OutboxDeps): Outbox {
  const deps = { limits, ...rest }
  const { store, log } = deps
  const sending = new Set<Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let claiming = false
  let claimAgain = false
  let closing = false

  const ring = (): void => {
    if (claiming) claimAgain = true
    else if (!closing) void claimAll()
  }

  const claimAll = async (): Promise<void> => {
    claiming = true
    try {
      do {
        claimAgain = false
        await claim()
      } while (claimAgain && !closing)
    } catch (error) {
      log.error({ error: (error as Error).name }, 'could not claim messages')
      wakeIn(limits.firstBackoff)
    } finally {
      claiming = false
    }
  }

  const claim = async (): Promise<void> => {
    const max = parallel - sending.size
    if (max <= 0) return
    const claimed = await store.claimMessages({ owner: deps.owner, max, at: Date.now(), leaseMs })
    for (const message of claimed) begin(message)
    if (claimed.length > 0) return
    const next = await store.nextMessageAt()
    // Due already, yet not handed out: its lane is busy, and the end of that send rings.
    if (next !== undefined && next > Date.now()) wakeIn(next - Date.now())
  }

  const begin = (message: StoredMessage): void => {
    const done = deliver(deps, message)
      .catch((error: Error) => log.error({ messageId: message.id, error: error.name }, 'could not record a delivery'))
      .finally(() => {
        sending.delete(done)
        ring()
      })
    sending.add(done)
  }

  const wakeIn = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(ring, Math.min(ms, limits.longestBackoff)).unref()
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
      closing = true
      clearTimeout(timer)
      const late = new Promise((resolve) => setTimeout(resolve, ms).unref())
      await Promise.race([Promise.allSettled(sending), late])
    },
  }
}

const interrupted = 'The gateway stopped while sending; the message may have arrived, so it is not repeated.'

type Sending = Required<OutboxDeps>

/** Sends the chunks that are still missing and stores how that ended. */
async function deliver(deps: Sending, message: StoredMessage): Promise<void> {
  const link = deps.connections.get(message.channel, message.accountId)
  const end = link ? await sendChunks(deps, message, link) : ({ status: 'failed', reason: 'The account of the channel is not configured.' } as const)
  if (end.status !== 'sent') deps.log.warn({ messageId: message.id, channel: message.channel, status: end.status, reason: end.reason }, 'message not sent')
  await deps.store.endMessage(message.id, message.fence, end, Date.now())
}

async function sendChunks(deps: Sending, message: StoredMessage, { channel, connection }: NonNullable<ReturnType<Connections['get']>>): Promise<MessageEnd> {
  if (!connection) return retry(deps, message, { reason: 'The channel is not connected.', afterMs: deps.limits.firstBackoff, uncertain: message.uncertain })
  const chunks = chunk(message.text, channel.limits.maxText)
  let platformId = message.platformId
  for (let index = message.chunksSent; index < chunks.length; index++) {
    const piece = { channel, connection, message, index, text: chunks[index] as string, key: `${message.id}:${index}` }
    const result = await sendPiece(piece, deps.limits.send)
    if (result.outcome === 'unknown') return { status: 'unknown', reason: result.detail }
    if (result.outcome === 'failed') return repeatable(result) ? retry(deps, message, { reason: result.detail, afterMs: result.retryAfterMs, uncertain: false }) : { status: 'failed', reason: result.detail }
    platformId = result.id ?? platformId
    const more = index + 1 < chunks.length
    if (more && !(await deps.store.advanceMessage(message.id, message.fence, index + 1))) return { status: 'unknown', reason: interrupted }
  }
  return { status: 'sent', platformId }
}

const repeatable = ({ reason }: Extract<SendResult, { outcome: 'failed' }>): boolean => reason === 'rate' || reason === 'transient'

interface Again {
  reason: string
  /** How long the platform wants us to wait, in milliseconds. */
  afterMs: number | undefined
  uncertain: boolean
}

function retry({ limits }: Sending, message: StoredMessage, { reason, afterMs, uncertain }: Again): MessageEnd {
  const nextAt = Date.now() + (afterMs ?? backoffMs(message.attempt, limits))
  return nextAt - message.createdAt > limits.giveUp ? { status: 'failed', reason } : { status: 'retry', reason, nextAt, uncertain }
}

/** Exponential with full jitter: messages that failed together do not come back together. */
function backoffMs(attempt: number, { firstBackoff, longestBackoff }: OutboxLimits): number {
  return firstBackoff / 2 + Math.random() * Math.min(longestBackoff, firstBackoff * 2 ** Math.min(attempt - 1, 20))
}

interface Piece {
  channel: Channel
  connection: Connection
  message: StoredMessage
  index: number
  text: string
  /** The same for every attempt of this very piece. */
  key: string
}

/** Sends one piece. One whose answer was lost goes out again only where that cannot double it. */
async function sendPiece(piece: Piece, ms: number): Promise<SendResult> {
  if (piece.message.uncertain && piece.index === piece.message.chunksSent) {
    const known = await lookUp(piece)
    if (known === 'sent') return { outcome: 'sent' }
    if (known === 'unknown') return { outcome: 'unknown', detail: piece.message.reason ?? interrupted }
  }
  const result = await send(piece, ms)
  if (result.outcome !== 'unknown') return result
  const known = await lookUp(piece)
  if (known === 'sent') return { outcome: 'sent' }
  return known === 'absent' ? { outcome: 'failed', reason: 'transient', detail: result.detail } : result
}

async function send({ connection, message, text, key }: Piece, ms: number): Promise<SendResult> {
  const { to, threadId, route } = message
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<SendResult>((resolve) => {
    timer = setTimeout(resolve, ms, { outcome: 'unknown', detail: 'The platform did not answer in time.' })
  })
  const attempt = async (): Promise<SendResult> =>
    await connection.send({ key, to, text, ...(threadId !== null && { threadId }), ...(route !== null && { route }) })
  try {
    return await Promise.race([attempt(), late])
  } catch {
    // A plugin that throws has said nothing about what the platform did.
    return { outcome: 'unknown', detail: 'The channel failed while sending.' }
  } finally {
    clearTimeout(timer)
  }
}

/** What the platform knows of a piece. One that drops doubles by our key may as well not have it. */
async function lookUp({ channel, connection, message, key }: Piece): Promise<'sent' | 'absent' | 'unknown'> {
  const { idempotency } = channel.limits
  if (idempotency === 'native') return 'absent'
  if (idempotency === 'none' || !connection.reconcile) return 'unknown'
  return await connection.reconcile(key, message.to).catch(() => 'unknown' as const)
}
