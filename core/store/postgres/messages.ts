// Sends and receives the messages between gateways with LISTEN and NOTIFY, on a connection of its own.
import type { Client, QueryConfig } from 'pg'
import { describeError, GatewayError } from '../../errors.ts'
import { createOutage } from '../../outage.ts'
import type { Log } from '../../plugin/plugin.ts'
import { type Check, compileCheck, type Static, Type } from '../../typebox.ts'
import { type Announcement, catchUp, type Replicas } from '../replicas.ts'
import { describe } from './failure.ts'
import type { Message, MessageSeal } from './message-seal.ts'
import { createPresence, type Self } from './presence.ts'

export interface Messages extends Replicas {
  /** Connects, and connects again whenever the connection is lost. */
  open(address: MessageAddress): void
  close(): Promise<void>
}

export interface MessageAddress {
  connect: () => Promise<Client>
  /** Called when the server has not answered, so that nothing else waits longer for it. */
  drop: (reason: Error) => void
  channel: string
  seal: MessageSeal
}

/** Each notification briefly locks out all commits of the server, so messages wait for others. */
const collectMs = 20
const reconnectMs = 1_000
/** How often a gateway reports its presence. A lost network is found by a report that gets no answer. */
const reportMs = 5_000
/** After three missed reports, a gateway counts as gone. */
const presenceMs = 16_000
const introductionMs = 1_000
const presenceTopic = 'presence'
const answerMs = 5_000
/** The driver's sentence. */
const answerTimeout = 'Query read timeout'

const PresenceReport = Type.Object({
  /** The topics that the sender wants. */
  topics: Type.Array(Type.String()),
  /** True: the sender does not know which gateways there are. The others answer with their own reports. */
  isNew: Type.Boolean(),
  /** Absent until the sender has started. */
  self: Type.Optional(Type.Object({ name: Type.String({ maxLength: 300 }), config: Type.String({ maxLength: 100 }) })),
})

/** The subscribers of a topic, and the check of its items. */
interface Subscribed {
  check: Check
  subscribers: readonly ((item: never) => void)[]
}

export function createMessages(log: Log): Messages {
  const subscribed = new Map<string, Subscribed>()
  const checkReport = compileCheck(PresenceReport)
  const ignored = new Set<string>()
  const outage = createOutage(log, {
    level: 'warn',
    failed: 'the connection for messages between gateways is lost; it is opened again',
    worked: 'messages between gateways are exchanged again',
    describe: (error) => ({ reason: describe(error) }),
  })
  const presence = createPresence({ lifetimeMs: presenceMs, introductionMs })
  const batch = createMessageBatch()
  let announced: Announcement | undefined
  let mustReport = false
  let isNew = true
  let reportedAt = -Infinity
  let nextSend: NodeJS.Timeout | undefined
  let client: Client | undefined
  let address: MessageAddress | undefined
  let timer: NodeJS.Timeout | undefined
  let connecting: Promise<void> = Promise.resolve()
  let isClosed = false

  const publish: Replicas['publish'] = ({ name }, item) => {
    if (isClosed || !presence.isWanted(name)) return
    batch.add({ topic: name, item })
    nextSend ??= setTimeout(send, collectMs).unref()
  }

  function reportSoon(): void {
    if (!client) return
    mustReport = true
    nextSend ??= setTimeout(send, collectMs).unref()
  }

  function createReport(): string {
    // Meanwhile, the others have counted this gateway as gone.
    if (performance.now() - reportedAt > presenceMs) beginAnew()
    const self = describeSelf()
    const item: Static<typeof PresenceReport> = { topics: [...subscribed.keys()], isNew, ...(self && { self }) }
    reportedAt = performance.now()
    mustReport = false
    isNew = false
    return JSON.stringify([{ topic: presenceTopic, item }])
  }

  const describeSelf = (): Self | undefined =>
    address && announced && { name: announced.name, config: address.seal.digest(announced.config) }

  function beginAnew(): void {
    presence.reset()
    isNew = true
  }

  async function connectAndListen(): Promise<void> {
    if (!address || isClosed) return
    try {
      const opened = await address.connect()
      const { seal } = address
      seal.begin()
      opened.on('notification', ({ payload = '' }) => receive(seal, payload))
      opened.on('error', (error) => leave(opened, error))
      opened.on('end', () => leave(opened, new Error('The server closed the connection.')))
      client = opened
      await opened.query(`LISTEN ${address.channel}`)
      outage.worked()
      beginAnew()
      reportSoon()
      check(opened)
      emit(catchUp.name, null)
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

  /** Reports the presence of this gateway now and then, which also shows whether the connection works. */
  function check(checked: Client): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      notify(checked, createReport()).then(
        () => client === checked && check(checked),
        (error: Error) => leave(checked, error),
      )
    }, reportMs).unref()
  }

  /** If the server does not answer, other connections need not wait longer for it. */
  const notify = (on: Client, messages: string): Promise<unknown> =>
    on
      .query({
        text: 'SELECT pg_notify($1, $2)',
        values: [address?.channel, address?.seal.seal(messages)],
        query_timeout: answerMs,
      } as QueryConfig)
      .catch((error: Error) => {
        if (error.message === answerTimeout) address?.drop(error)
        throw error
      })

  /** Any role that may connect to the database can send a payload. */
  const receive = (seal: MessageSeal, payload: string): void =>
    attempt(() => {
      const { sender, isOwn, messages } = seal.open(payload)
      if (!isOwn) for (const message of messages) attempt(() => dispatch(sender, message))
    })

  /** What throws outside of it would end the process. Each cause is logged once, without the message. */
  function attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      const { reason } = describeError(error)
      if (ignored.has(reason)) return
      ignored.add(reason)
      log.warn({ reason }, 'ignored a message that came through the database')
    }
  }

  function dispatch(sender: string, { topic, item }: Message): void {
    if (topic !== presenceTopic) return emit(topic, item)
    if (!checkReport.fits(item)) throw new GatewayError('invalid_request', 'A report of presence is not valid.')
    meet(sender, item as Static<typeof PresenceReport>)
  }

  /** If one did not know the other, it may not have sent it everything. */
  function meet(sender: string, report: Static<typeof PresenceReport>): void {
    const isKnown = presence.record(sender, report)
    if (isKnown && !report.isNew) return
    reportSoon()
    emit(catchUp.name, null)
  }

  function emit(topic: string, item: unknown): void {
    const found = subscribed.get(topic)
    if (found && !found.check.fits(item))
      throw new GatewayError('invalid_request', `A message does not fit the topic "${topic}".`)
    for (const subscriber of found?.subscribers ?? []) subscriber(item as never)
  }

  function send(): void {
    nextSend = undefined
    const payloads = [...(mustReport ? [createReport()] : []), ...batch.take()]
    if (!client) return
    // A message that is not sent is a lost hint.
    for (const payload of payloads) notify(client, payload).catch(() => undefined)
  }

  return {
    publish,
    isWanted: ({ name }) => presence.isWanted(name),
    subscribe: ({ name, item }, subscriber) => {
      const others = subscribed.get(name)
      subscribed.set(name, {
        check: others?.check ?? compileCheck(item),
        subscribers: [...(others?.subscribers ?? []), subscriber],
      })
      if (!others) reportSoon()
      return () => {
        const { check, subscribers } = subscribed.get(name) ?? { subscribers: [] }
        const left = subscribers.filter((other) => other !== subscriber)
        if (check && left.length > 0) subscribed.set(name, { check, subscribers: left })
        else if (subscribed.delete(name)) reportSoon()
      }
    },
    announce: (self) => {
      announced = self
      reportSoon()
    },
    others: () => {
      const self = describeSelf()
      return self ? presence.list().map(({ name, config }) => ({ name, hasSameConfig: config === self.config })) : []
    },
    open: (opened) => {
      address = opened
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

interface MessageBatch {
  /** Adds a message, unless the batch has the same one. */
  add(message: Message): void
  /** Returns the messages of each notification as JSON, and begins again. */
  take(): string[]
}

/** A notification holds less than 8,000 bytes, and encryption adds a third. A larger message is not sent. */
const maxBytes = 5_800
/** Further messages are dropped: they are only hints. */
const maxMessages = 5_000

/** Collects messages and puts as many into each notification as fit. */
function createMessageBatch(): MessageBatch {
  let texts = new Set<string>()
  return {
    add: (message) => {
      if (texts.size < maxMessages) texts.add(JSON.stringify(message))
    },
    take: () => {
      const lists = toPayloads(texts)
      texts = new Set()
      return lists
    },
  }
}

function toPayloads(texts: Iterable<string>): string[] {
  const lists: string[] = []
  let current: string[] = []
  let bytes = 2
  const add = (): void => {
    if (current.length > 0) lists.push(`[${current.join(',')}]`)
    current = []
    bytes = 2
  }
  for (const text of texts) {
    const size = Buffer.byteLength(text) + 1
    if (size > maxBytes) continue
    if (bytes + size > maxBytes) add()
    current.push(text)
    bytes += size
  }
  add()
  return lists
}
