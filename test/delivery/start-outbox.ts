// Starts an outbox with a real store, real connections and the chat plugin, and can end it like a crash.
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createConnections } from '../../core/delivery/connections/connections.ts'
import { createFailureEvents } from '../../core/delivery/outbox/failure-event.ts'
import { createOutbox } from '../../core/delivery/outbox/outbox.ts'
import type { OutboxLimits } from '../../core/delivery/outbox/send-delivery.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import type { Log } from '../../core/plugin/plugin.ts'
import { openStore } from '../store/open-store.ts'
import { readWorkspaceFile } from '../../core/tools/workspace.ts'
import type { NewDelivery, NewEvent, NewRun, Store, StoredDelivery } from '../../core/store/store.ts'
import { newRun } from '../contracts/store-samples.ts'
import type { Chat } from '../doubles/chat.ts'
import { temporaryFolder } from '../helpers.ts'
import { closeAtEnd } from '../share.ts'

const quick: OutboxLimits = { sendMs: 1_000, firstBackoffMs: 5, longestBackoffMs: 20, giveUpMs: 86_400_000 }
const all = { 'chat-native': { enabled: true }, 'chat-reconcile': { enabled: true }, 'chat-none': { enabled: true } }

export interface Rig {
  /** Stores a delivery as the end of a run does, and resolves with its id. By default, the run is that of a webhook. */
  put(delivery: Partial<NewDelivery>, run?: Partial<NewRun>): Promise<string>
  /** The delivery, as soon as it has ended. */
  ended(id: string): Promise<StoredDelivery>
  deliveryOf(id: string): Promise<StoredDelivery>
  logged: string[]
  /** The events that were stored with failed deliveries, as they were announced. */
  events: NewEvent[]
  store: Store
  /** Simulates a crash: nothing more is recorded. */
  die(): Promise<void>
  /** @param ms how long it sends what is due */
  close(ms?: number): Promise<void>
}

interface OutboxOptions {
  dir?: string
  limits?: Partial<OutboxLimits>
  /** Replaces what the outbox depends on. */
  breakDeps?: (deps: OutboxDeps) => OutboxDeps
}

export type OutboxDeps = Parameters<typeof createOutbox>[0]

export async function startOutbox(
  chat: Chat,
  { dir = temporaryFolder(), limits = {}, breakDeps = (deps) => deps }: OutboxOptions = {},
): Promise<Rig> {
  const logged: string[] = []
  const events: NewEvent[] = []
  const line = (fields: object, message: string) => void logged.push(JSON.stringify({ ...fields, message }))
  const log: Log = { debug: line, info: line, warn: line, error: line }
  const { plugins, channels: config } = chat.config(dir, all)
  const extensions = await loadExtensions({ plugins, dir, log })
  const store = await openStore({ url: 'sqlite:outbox.db', dir, log })
  const state = () => ({ get: async () => undefined, set: async () => {}, delete: async () => {} })
  const connections = createConnections({
    channels: extensions.channels,
    config: config as never,
    receive: async () => 'accepted',
    reportLateFailure: async () => undefined,
    moveGroup: async () => undefined,
    onConnected: () => outbox.notify(),
    state,
    findMissingPackages: () => undefined,
    redact: (text) => text,
    log,
  })
  const deps: OutboxDeps = {
    store,
    connections,
    owner: 'test',
    resolve: () => Promise.reject(new Error('All recipients are resolved.')),
    limits: { ...quick, ...limits },
    createFailureEvent: createFailureEvents({ store, mainSession: () => 'agent:main:main', createId: randomUUID }),
    onEvent: (event) => void events.push(event),
    readFile: readWorkspaceFile,
    redact: (text) => text.replaceAll('swordfish-123', '[redacted]'),
    log,
  }
  const outbox = createOutbox(breakDeps(deps))
  connections.open()
  await store.expireLeases()
  await outbox.resume()
  let runs = 0
  let closed = false
  const close = async (ms = 1000): Promise<void> => {
    if (closed) return
    closed = true
    await outbox.close(ms)
    await connections.close()
    await store.close()
    extensions.close()
  }
  closeAtEnd(() => close())

  const deliveryOf = async (id: string) => (await store.getDelivery(id))!
  return {
    logged,
    events,
    store,
    close,
    deliveryOf,
    put: async (delivery, run = {}) => {
      const at = Date.now()
      const runId = `run${process.hrtime.bigint()}${runs++}`
      await store.accept({ at, runs: [newRun({ id: runId, sessionKey: runId, ...run })] })
      const [claimed] = await store.claimRuns({ owner: 'test', max: 1, at, leaseMs: 1000 })
      const whole: NewDelivery = {
        id: `${runId}:0`,
        runId,
        channel: 'chat-native',
        accountId: 'default',
        to: 'ann',
        threadId: null,
        route: null,
        text: 'Hi.',
        status: 'pending',
        reason: null,
        ...delivery,
      }
      await store.endRun(claimed!, {
        at,
        status: 'succeeded',
        result: {},
        transcript: [],
        events: [],
        deliveries: [whole],
        eventsRendered: false,
      })
      outbox.notify()
      return whole.id
    },
    ended: async (id) => {
      // Nothing tells that a message has been recorded, so it is looked for.
      await expect.poll(async () => (await deliveryOf(id)).status).not.toMatch(/pending|sending/)
      return await deliveryOf(id)
    },
    die: async () => {
      closed = true
      await store.close()
      await outbox.close(0)
      await connections.close()
      extensions.close()
    },
  }
}
