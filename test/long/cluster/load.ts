// Senders of webhooks during a fault: each repeats a webhook until it is acknowledged, as services do.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { type GatewayProcess, hookToken } from '../../helpers.ts'
import { query } from '../../postgres.ts'

export interface Seen {
  /** The longest time that a webhook took until it was acknowledged, and that a single request took, in seconds. */
  outage: number
  slowest: number
  /** The statuses that its requests got. 0: none. */
  statuses: number[]
}

export interface Load {
  /** The ids of the events that were acknowledged. */
  acknowledged: string[]
  /** Ends the senders although they have no acknowledgement. */
  abandon(): void
  /** Ends when each sender has its last acknowledgement. @returns what the sender to each gateway has seen */
  end(): Promise<Seen[]>
}

const everyMs = 20

/** One sender for each gateway. */
export function startLoad(gateways: readonly { url: string }[]): Load {
  const name = randomUUID()
  const acknowledged: string[] = []
  let isEnding = false
  let isAbandoned = false
  const send = async (gateway: { url: string }, index: number): Promise<Seen> => {
    const seen: Seen = { outage: 0, slowest: 0, statuses: [] }
    const statuses = new Set<number>()
    for (let n = 0; !isEnding; n++) {
      const begun = performance.now()
      for (let isDone = false; !isDone && !isAbandoned; await delay(everyMs)) {
        const sentAt = performance.now()
        const { status, eventId } = await post(gateway.url, `${name} ${index}-${n}`)
        seen.slowest = Math.max(seen.slowest, seconds(sentAt))
        statuses.add(status)
        isDone = status === 200
        if (eventId !== undefined) acknowledged.push(eventId)
      }
      seen.outage = Math.max(seen.outage, seconds(begun))
    }
    return { ...seen, statuses: [...statuses].toSorted((a, b) => a - b) }
  }
  const senders = gateways.map(send)
  return {
    acknowledged,
    abandon: () => (isEnding = isAbandoned = true),
    end: async () => {
      isEnding = true
      return await Promise.all(senders)
    },
  }
}

const seconds = (since: number): number => Math.round((performance.now() - since) / 100) / 10

async function post(url: string, key: string): Promise<{ status: number; eventId?: string }> {
  try {
    const response = await fetch(`${url}/hooks/wake`, {
      method: 'POST',
      headers: { authorization: `Bearer ${hookToken}`, 'idempotency-key': key },
      body: JSON.stringify({ text: `Number ${key}`, mode: 'next-heartbeat' }),
      signal: AbortSignal.timeout(30_000),
    })
    return { status: response.status, eventId: ((await response.json()) as { eventId?: string }).eventId }
  } catch {
    return { status: 0 }
  }
}

/** Every acknowledged event is stored once, and nothing else is. @returns how many acknowledged events are missing */
export async function countLost(databaseUrl: string, { acknowledged }: Load): Promise<number> {
  const rows = await query(databaseUrl, 'SELECT id FROM event')
  const stored = new Set(rows.map(({ id }) => String(id)))
  expect(stored.size).toBe(rows.length)
  return acknowledged.filter((id) => !stored.has(id)).length
}

/** Prints what docs/deploy.md says about a fault. */
export function report(fault: string, { outage, slowest, statuses }: Seen, more = ''): void {
  console.info(
    `${fault}: without an acknowledgement for ${outage} s; slowest answer ${slowest} s; ${statuses.join()}${more}`,
  )
}

export const isReady = async ({ url }: Pick<GatewayProcess, 'url'>): Promise<boolean> =>
  (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
