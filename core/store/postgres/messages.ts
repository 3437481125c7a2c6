// Sends and receives the messages between gateways with LISTEN and NOTIFY, on a connection of its own.
import type { Client, QueryConfig } from 'pg'
import { createOutage } from '../../outage.ts'
import type { Json, Log } from '../../plugin.ts'
import type { Replicas } from '../replicas.ts'
import { describe } from './failure.ts'
import { createMessageBatch, type Message } from './message-batch.ts'
import { createPresence } from './presence.ts'

export interface Messages extends Replicas {
  /** Connects, and connects again whenever the connection is lost. */
  open(connect: () => Promise<Client>, channel: string): void
  close(): Promise<void>
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
const catchUp = 'catch-up'
const answerMs = 5_000

interface PresenceReport {
  /** The topics that the sender wants. */
  topics: string[]
  /** True: the sender does not know which gateways there are. The others answer with their own reports. */
  isNew: boolean
}

export function createMessages(log: Log): Messages {
  const subscribers = new Map<string, ((item: Json) => void)[]>()
  const outage = createOutage(log, {
    level: 'warn',
    failed: 'the connection for messages between gateways is lost; it is opened again',
    worked: 'messages between gateways are exchanged again',
    describe: (error) => ({ reason: describe(error) }),
  })
  const presence = createPresence({ lifetimeMs: presenceMs, introductionMs })
  const batch = createMessageBatch()
  let mustReport = false
  let isNew = true
  let reportedAt = -Infinity
  let nextSend: NodeJS.Timeout | undefined
  let client: Client | undefined
  let address: { connect: () => Promise<Client>; channel: string } | undefined
  let timer: NodeJS.Timeout | undefined
  let connecting: Promise<void> = Promise.resolve()
  let isClosed = false

  const publish: Replicas['publish'] = (topic, item) => {
    if (isClosed || !presence.isWanted(topic)) return
    batch.add({ topic, item })
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
    const item = { topics: [...subscribers.keys()], isNew }
    reportedAt = performance.now()
    mustReport = false
    isNew = false
    return JSON.stringify([{ topic: presenceTopic, item }])
  }

  function beginAnew(): void {
    presence.reset()
    isNew = true
  }

  async function connectAndListen(): Promise<void> {
    if (!address || isClosed) return
    try {
      const opened = await address.connect()
      opened.on('notification', ({ processId, payload = '[]' }) => {
        if (processId !== (opened as Client & { processID: number }).processID) receive(processId, payload)
      })
      opened.on('error', (error) => leave(opened, error))
      opened.on('end', () => leave(opened, new Error('The server closed the connection.')))
      client = opened
      await opened.query(`LISTEN ${address.channel}`)
      outage.worked()
      beginAnew()
      reportSoon()
      check(opened)
      emit(catchUp, null)
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

  const notify = (on: Client, payload: string): Promise<unknown> =>
    on.query({
      text: 'SELECT pg_notify($1, $2)',
      values: [address?.channel, payload],
      query_timeout: answerMs,
    } as QueryConfig)

  function receive(processId: number, payload: string): void {
    for (const { topic, item } of JSON.parse(payload) as Message[]) {
      if (topic === presenceTopic) meet(processId, item as unknown as PresenceReport)
      else emit(topic, item)
    }
  }

  /** If one did not know the other, it may not have sent it everything. */
  function meet(processId: number, { topics, isNew }: PresenceReport): void {
    const isKnown = presence.record(processId, topics)
    if (isKnown && !isNew) return
    reportSoon()
    emit(catchUp, null)
  }

  function emit(topic: string, item: Json): void {
    for (const subscriber of subscribers.get(topic) ?? []) subscriber(item)
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
    isWanted: presence.isWanted,
    subscribe: (topic, subscriber) => {
      const others = subscribers.get(topic)
      subscribers.set(topic, [...(others ?? []), subscriber])
      if (!others) reportSoon()
      return () => {
        const left = subscribers.get(topic)?.filter((other) => other !== subscriber) ?? []
        if (left.length > 0) subscribers.set(topic, left)
        else if (subscribers.delete(topic)) reportSoon()
      }
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
