// Sends and receives the messages between gateways with LISTEN and NOTIFY, on a connection of its own.
import type { Client } from 'pg'
import { createOutage } from '../../outage.ts'
import type { Json, Log } from '../../plugin.ts'
import type { Replicas } from '../replicas.ts'
import { describe } from './failure.ts'

export interface Messages extends Replicas {
  /** Connects, and connects again whenever the connection is lost. */
  open(connect: () => Promise<Client>, channel: string): void
  close(): Promise<void>
}

interface Item {
  topic: string
  item: Json
}

/** A notification holds less than 8,000 bytes. A larger item is not sent. */
const maxBytes = 7_500
/** Each notification briefly locks out all commits of the server, so items wait for others. */
const collectMs = 20
const reconnectMs = 1_000
/** Further items are dropped: messages are only hints. */
const maxPending = 5_000
/** A lost network is found by a statement that gets no answer. */
const checkMs = 5_000

export function createMessages(log: Log): Messages {
  const subscribers = new Map<string, ((item: Json) => void)[]>()
  const outage = createOutage(log, {
    level: 'warn',
    failed: 'the connection for messages between gateways is lost; it is opened again',
    worked: 'messages between gateways are exchanged again',
    describe: (error) => ({ reason: describe(error) }),
  })
  let pending: Item[] = []
  let nextSend: NodeJS.Timeout | undefined
  let client: Client | undefined
  let address: { connect: () => Promise<Client>; channel: string } | undefined
  let timer: NodeJS.Timeout | undefined
  let connecting: Promise<void> = Promise.resolve()
  let isClosed = false

  const publish: Replicas['publish'] = (topic, item) => {
    if (isClosed || pending.length >= maxPending) return
    pending.push({ topic, item })
    nextSend ??= setTimeout(send, collectMs).unref()
  }

  async function connectAndListen(): Promise<void> {
    if (!address || isClosed) return
    try {
      const opened = await address.connect()
      opened.on('notification', ({ processId, payload = '[]' }) => {
        if (processId !== (opened as Client & { processID: number }).processID) receive(payload)
      })
      opened.on('error', (error) => leave(opened, error))
      opened.on('end', () => leave(opened, new Error('The server closed the connection.')))
      client = opened
      await opened.query(`LISTEN ${address.channel}`)
      outage.worked()
      check(opened)
      // Either side may have missed something.
      emit('catch-up', null)
      publish('catch-up', null)
    } catch (error) {
      outage.failed(error)
      const failed = client
      client = undefined
      void failed?.end().catch(() => undefined)
      reconnectLater()
    }
  }

  function leave(lost: Client, error: Error): void {
    if (client !== lost) return
    client = undefined
    if (isClosed) return
    outage.failed(error)
    void lost.end().catch(() => undefined)
    reconnectLater()
  }

  function reconnectLater(): void {
    clearTimeout(timer)
    if (!isClosed) timer = setTimeout(() => void (connecting = connectAndListen()), reconnectMs).unref()
  }

  /** Asks the server now and then, because nothing else is sent on this connection. */
  function check(checked: Client): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      checked.query({ text: 'SELECT 1', query_timeout: checkMs } as { text: string }).then(
        () => client === checked && check(checked),
        (error: Error) => leave(checked, error),
      )
    }, checkMs).unref()
  }

  function receive(payload: string): void {
    for (const { topic, item } of JSON.parse(payload) as Item[]) emit(topic, item)
  }

  function emit(topic: string, item: Json): void {
    for (const subscriber of subscribers.get(topic) ?? []) subscriber(item)
  }

  function send(): void {
    nextSend = undefined
    const items = pending
    pending = []
    if (!client || !address) return
    for (const payload of toPayloads(items))
      // A message that is not sent is a lost hint.
      client.query('SELECT pg_notify($1, $2)', [address.channel, payload]).catch(() => undefined)
  }

  return {
    publish,
    subscribe: (topic, subscriber) => {
      subscribers.set(topic, [...(subscribers.get(topic) ?? []), subscriber])
    },
    open: (connect, channel) => {
      address = { connect, channel }
      connecting = connectAndListen()
    },
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      clearTimeout(nextSend)
      await connecting
      const closing = client
      client = undefined
      await closing?.end().catch(() => undefined)
    },
  }
}

/** Puts as many items into each payload as fit. */
function toPayloads(items: readonly Item[]): string[] {
  const payloads: string[] = []
  let texts: string[] = []
  let bytes = 2
  const add = (): void => {
    if (texts.length > 0) payloads.push(`[${texts.join(',')}]`)
    texts = []
    bytes = 2
  }
  for (const item of items) {
    const text = JSON.stringify(item)
    const size = Buffer.byteLength(text) + 1
    if (size > maxBytes) continue
    if (bytes + size > maxBytes) add()
    texts.push(text)
    bytes += size
  }
  add()
  return payloads
}
