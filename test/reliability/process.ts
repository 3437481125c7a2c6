// Starts a gateway as a process, and reads from it and from the store that it leaves behind.
import { onTestFinished } from 'vitest'
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

/** Starts a gateway that is killed, at the latest, when the test ends. */
export async function start(dir: string, changes: Document = {}): Promise<GatewayProcess> {
  const gateway = await spawnGateway(writeConfig(dir, { log: { level: 'error' }, ...changes }))
  onTestFinished(async () => void (await gateway.end('SIGKILL')))
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

/** Resolves with the run when it has ended. */
export async function ended(url: string, runId: string): Promise<{ status: string; error?: { type: string } }> {
  const { body } = await get(url, `/runs/${runId}`)
  if (!['queued', 'running'].includes(body.status)) return body
  await new Promise((resolve) => setTimeout(resolve, 10))
  return await ended(url, runId)
}

/** Returns the events that wait in the main session of a stopped gateway. */
export async function waitingTexts(dir: string): Promise<string[]> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log })
  const events = await store.listWaitingEvents('agent:main:main', { count: 1_000_000, characters: 1e9 })
  await store.close()
  return events.map(({ text }) => text)
}
