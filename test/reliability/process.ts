// Starts a gateway as a process, and reads from it and from the store that it leaves behind.
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '../../core/store/store.ts'
import { openStore } from '../store/open-store.ts'
import {
  type Answer,
  ask,
  type Document,
  gatewayToken,
  type GatewayProcess,
  hookToken,
  spawnGateway,
  writeConfig,
} from '../helpers.ts'
import { closeAtEnd } from '../share.ts'

/** Starts a gateway that is killed, at the latest, when the test ends, or the block that shares it. */
export async function start(
  dir: string,
  changes: Document = {},
  options: Parameters<typeof spawnGateway>[1] = {},
): Promise<GatewayProcess> {
  const gateway = await spawnGateway(writeConfig(dir, { log: { level: 'error' }, ...changes }), options)
  closeAtEnd(() => gateway.end('SIGKILL'))
  return gateway
}

export const post = (
  url: string,
  [hook, body, headers]: [hook: string, body: object, headers?: Record<string, string>],
): Promise<Answer> =>
  ask(`${url}/hooks/${hook}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${hookToken}`, ...headers },
  })

export const get = (url: string, path: string): Promise<Answer> =>
  ask(`${url}${path}`, { headers: { authorization: `Bearer ${gatewayToken}` } })

/** Resolves with the run when it has ended. It asks less and less often, because some wait for the end of a lease. */
export async function ended(
  url: string,
  runId: string,
  pauseMs = 10,
): Promise<{ status: string; error?: { type: string } }> {
  const { body } = await get(url, `/runs/${runId}`)
  if (!['queued', 'running', 'waiting'].includes(body.status)) return body
  await delay(pauseMs)
  return await ended(url, runId, Math.min(2 * pauseMs, 200))
}

/** Returns the events that wait in the main session of a stopped gateway. */
export const waitingTexts = (dir: string): Promise<string[]> =>
  readStore(dir, async (store) => {
    const events = await store.listWaitingEvents('agent:main:main', { count: 1_000_000, characters: 1e9 })
    return events.map(({ text }) => text)
  })

/** Returns the ids of the deliveries that a killed gateway was sending. */
export const deliveriesInFlight = (dir: string): Promise<string[]> =>
  readStore(dir, async (store) => {
    const ids: string[] = []
    for (let before: number | undefined, isLast = false; !isLast;) {
      const { items, next } = await store.listDeliveries({ status: 'sending' }, { before, limit: 100 })
      ids.push(...items.map(({ id }) => id))
      ;[before, isLast] = [next, next === undefined]
    }
    return ids
  })

async function readStore<Result>(dir: string, read: (store: Store) => Promise<Result>): Promise<Result> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log })
  try {
    return await read(store)
  } finally {
    await store.close()
  }
}
