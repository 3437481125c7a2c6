// The gateway as a channel sees it: downloads files, stores messages once, connects again after a loss, and can crash.
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { isAuthError } from '../../core/plugin/errors.ts'
import { GatewayError } from '../../core/errors.ts'
import { createAttachments } from '../../core/delivery/inbound/attachments.ts'
import { createDownloads } from '../../core/delivery/inbound/downloads.ts'
import { createReceive } from '../../core/delivery/inbound/receive.ts'
import type {
  Channel,
  ChannelContext,
  Connection,
  InboundMessage,
  JsonSchema,
  OutboundMessage,
  PlatformRequest,
  PlatformResponse,
} from '../../core/plugin/plugin.ts'
import { createTestContext } from './context.ts'

/** An attempt to store a message, and how it ends. */
export interface HeldMessage {
  /** Resolves when the channel has called `receive`. */
  message: Promise<InboundMessage>
  /** Makes that attempt fail, as while the store is away. */
  fail(): void
}

/** Why a message is not stored. */
type Unstored = 'ignored' | 'duplicate'

export interface PlayedGateway {
  connect(): Promise<void>
  send(message: Pick<OutboundMessage, 'text'> & Partial<OutboundMessage>): ReturnType<Connection['send']>
  /** The current connection, or the next one after a loss. */
  connection(): Promise<Connection>
  /** Resolves with the next message that was stored. Its text describes its files. */
  next(): Promise<InboundMessage>
  /** The next attempt to store a message waits until the caller decides. */
  holdNext(): HeldMessage
  /** The gateway does not want the next message, or knows it. */
  answerNext(result: Unstored): void
  /** Closes the connection while `held` waits, lets that fail, and connects again with the same state. */
  crash(held: HeldMessage): Promise<void>
  /** Closes the connection, waits for `meanwhile`, and connects again with the same state. */
  restart(meanwhile: () => Promise<void>): Promise<void>
  /** Answers a request of the platform as the connection's `handle` does. */
  handle(request: PlatformRequest): Promise<PlatformResponse>
  /** Closes the connection for good, as when the gateway stops. */
  close(): Promise<void>
  /** The contents of the files that were stored. */
  files: readonly Uint8Array[]
  /** The messages for which `receive` was called, stored or not. */
  offered: readonly InboundMessage[]
  /** Those of them for which it was called after `close`. */
  late: readonly InboundMessage[]
  /** The log as text, objects included, and the reasons of lost connections. */
  log(): string
  /** The values of the settings that the schema marks as secret. */
  secrets: readonly string[]
}

interface Settings<Config> {
  channel: Channel<Config>
  config: Config
  to: string
  /** How long to wait for what must happen. */
  waitMs: number
  accountId?: string
}

export function playGateway<Config>(settings: Settings<Config>): PlayedGateway {
  const { channel, config, to, waitMs, accountId = 'default' } = settings
  const base = createTestContext()
  const inbox = createInbox()
  const files: Uint8Array[] = []
  const attachments = createAttachments({
    saveFile: async (_agentId, _path, data) => void files.push(data),
    downloads: createDownloads(),
    log: base.log,
  })
  let current: Promise<Connection> | undefined
  const ends = new WeakMap<Connection, AbortController>()
  const offered: InboundMessage[] = []
  const late: InboundMessage[] = []
  const reasons: unknown[] = []
  let closed = false
  let ended = false
  let keys = 0

  const describe = (message: InboundMessage): Promise<string> =>
    attachments.describe(message, { agentId: 'main', key: message.id, at: Date.now(), source: {} })

  async function open(): Promise<Connection> {
    const loss = Promise.withResolvers<unknown>()
    const end = new AbortController()
    const signal = AbortSignal.any([base.signal, end.signal])
    const accept = (message: InboundMessage) => inbox.accept(message, () => describe(message))
    const store = createReceive({ accept, signal, fields: {}, log: base.log })
    const receive: ChannelContext['receive'] = (message, options) => {
      offered.push(message)
      if (ended) late.push(message)
      return store(message, options)
    }
    const connection = await channel.connect(config, {
      ...base,
      signal,
      accountId,
      receive,
      lost: loss.resolve,
    })
    ends.set(connection, end)
    void loss.promise.then((reason) => reconnect(connection, reason))
    return connection
  }

  /** Aborts the signal of the connection first, as the gateway does. */
  async function close(connection: Connection): Promise<void> {
    ends.get(connection)?.abort()
    await connection.close()
  }

  /** What the gateway does after a loss, without its pause. */
  function reconnect(lost: Connection, reason: unknown): void {
    reasons.push(reason)
    // What a connection reports after its end concerns nobody.
    if (closed || ends.get(lost)?.signal.aborted) return
    current = close(lost).then(() => (isAuthError(reason) ? Promise.reject(reason) : openSoon()))
    current.catch(() => undefined)
  }

  async function openSoon(): Promise<Connection> {
    for (const end = Date.now() + waitMs; ; await delay(20)) {
      try {
        return await open()
      } catch (error) {
        if (closed || isAuthError(error) || Date.now() > end) throw error
      }
    }
  }

  const connection = () => soon(current ?? Promise.reject(new Error('not connected')), 'a connection')
  const soon = <Value>(promise: Promise<Value>, what: string) => within(promise, waitMs, what)

  return {
    connect: async () => void (await (current = open())),
    connection,
    send: async (message) => (await connection()).send({ key: `k:${keys++}`, to, ...message }),
    next: () => soon(inbox.next(), 'the next message'),
    holdNext() {
      const { message, fail } = inbox.holdNext()
      const called = soon(message, 'a call of receive')
      // A check that fails before it waits for this reports its own error.
      called.catch(() => undefined)
      return { message: called, fail }
    },
    answerNext: inbox.answerNext,
    async restart(meanwhile) {
      await soon(close(await connection()), 'the end of close')
      const { promise, resolve } = Promise.withResolvers<Connection>()
      current = promise
      await meanwhile()
      resolve(open())
      await connection()
    },
    async crash(held) {
      const closing = close(await connection())
      held.fail()
      await soon(closing, 'the end of close')
      current = openSoon()
      await connection()
    },
    async handle(request) {
      const { handle } = await connection()
      return handle ? await handle(request).catch(() => ({ status: 503 })) : { status: 404 }
    },
    async close() {
      if (closed) return
      closed = true
      base.abort()
      const open = await (current && soon(current, 'the end of connect').catch(() => undefined))
      if (open) await soon(close(open), 'the end of close')
      ended = true
    },
    files,
    offered,
    late,
    log: () => inspect([base.logged, reasons], { depth: 10, maxStringLength: null, maxArrayLength: null }),
    secrets: secretsOf(channel.config, config),
  }
}

/** Rejects with a sentence instead of waiting until the test is ended. */
export async function within<Value>(promise: Promise<Value>, waitMs: number, what: string): Promise<Value> {
  const stop = new AbortController()
  const late = delay(waitMs, undefined, { signal: stop.signal }).then(
    () => Promise.reject(new Error(`waited ${waitMs} ms for ${what}`)),
    () => new Promise<never>(() => undefined),
  )
  return await Promise.race([promise, late]).finally(() => stop.abort())
}

/** Stores each message once, by its id, and hands the stored ones out in order. */
function createInbox() {
  const stored = new Set<string>()
  const messages: InboundMessage[] = []
  const readers: ((message: InboundMessage) => void)[] = []
  const holds: ((message: InboundMessage) => Promise<never> | Unstored)[] = []

  async function accept(
    message: InboundMessage,
    describe: () => Promise<string>,
  ): ReturnType<ChannelContext['receive']> {
    const hold = holds.shift()
    if (hold) return hold(message)
    // Storing takes time, so a channel that does not wait for it shows.
    await delay(1)
    if (stored.has(message.id)) return 'duplicate'
    stored.add(message.id)
    const described = message.attachments?.length ? { ...message, text: await describe() } : message
    const reader = readers.shift()
    if (reader) reader(described)
    else messages.push(described)
    return 'accepted'
  }

  return {
    accept,
    next: () =>
      new Promise<InboundMessage>((resolve) => {
        const message = messages.shift()
        if (message) resolve(message)
        else readers.push(resolve)
      }),
    answerNext: (result: Unstored) => void holds.push(() => result),
    holdNext() {
      const [called, end] = [Promise.withResolvers<InboundMessage>(), Promise.withResolvers<never>()]
      holds.push((message) => {
        called.resolve(message)
        return end.promise
      })
      return { message: called.promise, fail: () => end.reject(new GatewayError('store_unavailable')) }
    },
  }
}

/** The texts in `value` that the schema marks with `secret: true`. */
export function secretsOf(schema: JsonSchema, value: unknown): string[] {
  const { secret, properties, anyOf, allOf, items } = schema as SchemaParts
  if (secret && typeof value === 'string') return [value]
  const alternatives = [...(anyOf ?? []), ...(allOf ?? [])].flatMap((part) => secretsOf(part, value))
  if (Array.isArray(value)) return [...alternatives, ...(items ? value.flatMap((item) => secretsOf(items, item)) : [])]
  if (typeof value !== 'object' || value === null) return alternatives
  const fields = Object.entries(properties ?? {}).flatMap(([key, part]) =>
    secretsOf(part, (value as Record<string, unknown>)[key]),
  )
  return [...alternatives, ...fields]
}

interface SchemaParts {
  secret?: boolean
  properties?: Record<string, JsonSchema>
  anyOf?: JsonSchema[]
  allOf?: JsonSchema[]
  items?: JsonSchema
}
