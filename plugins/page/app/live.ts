// The live connection: one WebSocket that subscribes to what the open views need, and comes back by itself.
import { batch, type ReadonlySignal, signal } from '@preact/signals'
import { readJson } from '../api/read-json.ts'
import type { Item, Reply } from '../api/client.ts'

/** What each topic sends. */
export interface Topics {
  request: Item<'GET /api/requests'>
  run: Reply<'GET /runs/{id}'>
  step: Item<'GET /runs/{id}/steps'> & { runId: string; agentId: string; sessionKey: string }
  outbox: Item<'GET /api/outbox'>
  approval: Item<'GET /api/approvals'>
  event: { id: string; sessionKey: string; text: string; mode: 'now' | 'next-heartbeat'; at: string }
  log: { at: string; level: 'debug' | 'info' | 'warn' | 'error'; component: string; message: string; fields: object }
  'chat.delta': { runId: string; text: string }
}
export type Topic = keyof Topics

export type LiveState = 'connecting' | 'connected' | 'offline'

export interface Live {
  state: ReadonlySignal<LiveState>
  /** When the state began, in Unix milliseconds. */
  since: ReadonlySignal<number>
  /** Grows with each connection, and when changes were missed. What was loaded before may be stale. */
  epoch: ReadonlySignal<number>
  /** Receives the changes of a topic, several at a time. Returns a function that ends it. */
  on<Name extends Topic>(topic: Name, receive: (changes: Topics[Name][]) => void): () => void
  /** Calls a method. Rejects when the connection is lost before the result arrives. */
  call<Result>(method: string, params: object): Promise<Result>
  open(): void
  close(): void
}

interface LiveDeps {
  url: string
  credential(): string | undefined
  onUnauthorized(): void
}

/** Changes are collected for this long, so that a burst of them renders once. */
const collectMs = 120
/** A view that shows what has changed needs no more than the newest changes. */
const maxCollected = 1_000
const [minRetryMs, maxRetryMs] = [500, 15_000]
/** How long an idle connection may take to answer when the reader returns to the tab. */
const probeMs = 4_000

interface PendingCall {
  resolve(result: unknown): void
  reject(error: Error): void
}

export function createLive({ url, credential, onUnauthorized }: LiveDeps): Live {
  const state = signal<LiveState>('connecting')
  const since = signal(Date.now())
  const epoch = signal(0)
  const listeners = new Map<Topic, Set<(changes: never[]) => void>>()
  const collected = new Map<Topic, unknown[]>()
  const pending = new Map<number, PendingCall>()
  let socket: WebSocket | undefined
  let isOpen = false
  let failures = 0
  let nextId = 1
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let flushTimer: ReturnType<typeof setTimeout> | undefined

  function setState(next: LiveState): void {
    if (state.peek() === next) return
    state.value = next
    since.value = Date.now()
  }

  function connect(): void {
    clearTimeout(retryTimer)
    const token = credential()
    if (!isOpen || socket || token === undefined) return
    const opened = new WebSocket(url)
    socket = opened
    opened.addEventListener('open', () => void authenticate(opened, token))
    opened.addEventListener('message', ({ data }) => receive(String(data)))
    opened.addEventListener('close', () => lose(opened))
  }

  async function authenticate(opened: WebSocket, token: string): Promise<void> {
    const topics: Topic[] = []
    try {
      await request(opened, 'auth', { token })
      topics.push(...[...listeners.keys()].filter((topic) => topic !== 'chat.delta'))
      await request(opened, 'subscribe', { topics })
    } catch (error) {
      if ((error as { type?: string }).type === 'unauthorized') onUnauthorized()
      return opened.close()
    }
    failures = 0
    setState('connected')
    // A view may have been opened meanwhile.
    for (const topic of listeners.keys()) if (!topics.includes(topic)) changeSubscription('subscribe', topic)
    epoch.value += 1
  }

  function lose(lost: WebSocket): void {
    if (lost !== socket) return
    socket = undefined
    for (const { reject } of pending.values()) reject(new Error('The connection to the gateway was lost.'))
    pending.clear()
    if (!isOpen) return
    setState('offline')
    const waitMs = Math.min(maxRetryMs, minRetryMs * 2 ** failures) * (0.75 + Math.random() / 2)
    failures += 1
    retryTimer = setTimeout(connect, waitMs)
  }

  function request<Result>(to: WebSocket, method: string, params: object): Promise<Result> {
    const id = nextId++
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    pending.set(id, { resolve, reject })
    to.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return promise as Promise<Result>
  }

  function receive(text: string): void {
    const message = readJson(text) as Message
    if (message.method === 'missed') return void (epoch.value += 1)
    if (message.method !== undefined) return collect(message.method as Topic, message.params)
    const call = pending.get(message.id ?? 0)
    pending.delete(message.id ?? 0)
    if (message.error) call?.reject(Object.assign(new Error(message.error.message), { type: message.error.data?.type }))
    else call?.resolve(message.result)
  }

  function collect(topic: Topic, change: unknown): void {
    const changes = collected.get(topic) ?? []
    changes.push(change)
    if (changes.length > maxCollected) changes.splice(0, changes.length - maxCollected)
    collected.set(topic, changes)
    flushTimer ??= setTimeout(flush, collectMs)
  }

  function flush(): void {
    flushTimer = undefined
    const all = [...collected]
    collected.clear()
    batch(() => {
      for (const [topic, changes] of all) for (const receive of listeners.get(topic) ?? []) receive(changes as never[])
    })
  }

  /** A connection may have died without a sign, for example while the machine slept. */
  function probe(): void {
    if (!isOpen) return
    if (!socket) return connect()
    const probed = socket
    if (probed.readyState !== WebSocket.OPEN) return
    const timer = setTimeout(() => {
      probed.close()
      lose(probed)
    }, probeMs)
    request(probed, 'subscribe', { topics: [] }).then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    )
  }

  const changeSubscription = (method: 'subscribe' | 'unsubscribe', topic: Topic): void => {
    if (topic === 'chat.delta' || state.peek() !== 'connected' || !socket) return
    // It fails only with the connection, and a new connection subscribes again.
    request(socket, method, { topics: [topic] }).catch(() => undefined)
  }

  const probeIfVisible = (): void => void (document.visibilityState === 'visible' && probe())

  return {
    state,
    since,
    epoch,
    on: (topic, listener) => {
      const set = listeners.get(topic) ?? new Set()
      if (set.size === 0) {
        listeners.set(topic, set)
        changeSubscription('subscribe', topic)
      }
      set.add(listener)
      return () => {
        if (!set.delete(listener) || set.size > 0) return
        listeners.delete(topic)
        changeSubscription('unsubscribe', topic)
      }
    },
    call: async (method, params) => {
      if (!socket || state.peek() !== 'connected') throw new Error('The page is not connected to the gateway.')
      return await request(socket, method, params)
    },
    open: () => {
      isOpen = true
      setState('connecting')
      connect()
      addEventListener('online', probe)
      document.addEventListener('visibilitychange', probeIfVisible)
    },
    close: () => {
      isOpen = false
      clearTimeout(retryTimer)
      removeEventListener('online', probe)
      document.removeEventListener('visibilitychange', probeIfVisible)
      socket?.close()
      socket = undefined
    },
  }
}

interface Message {
  id?: number
  method?: string
  params?: unknown
  result?: unknown
  error?: { message: string; data?: { type?: string } }
}

/** The WebSocket of the gateway that serves a page. */
export function socketUrl(base: string): string {
  const url = new URL('ws', base)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return url.href
}
