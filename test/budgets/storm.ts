// A storm of signed webhooks against gateways whose model costs money, with kill -9 in between: what was spent exceeds
// the budget by no more than the runs in progress, and the counters are the sums of the steps.
import { createHmac } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { startModel } from '../doubles/model.ts'
import {
  ask,
  type Document,
  gatewayToken,
  type GatewayProcess,
  spawnGateway,
  temporaryFolder,
  writeConfig,
} from '../helpers.ts'
import { query } from '../postgres.ts'
import { callTokens, callUsd, mapping } from './gateway.ts'

export interface Storm {
  gateways: number
  webhooks: number
  /** How often a gateway is killed, one after the other. */
  kills: number
  /** How many calls the budget pays for. */
  calls: number
  /** The URL of a PostgreSQL database. Absent: SQLite. */
  databaseUrl?: string
}

const secret = 'a secret of the sender'
/** Runs of all gateways together. */
const maxConcurrent = 8

const nanosOf = (usd: number): number => Math.round(usd * 1e9)

export async function runStorm({ gateways: count, webhooks, kills, calls, databaseUrl }: Storm): Promise<void> {
  const [root, model] = [temporaryFolder(), await startModel()]
  model.otherwise({ text: 'Done.', pauseMs: 3 })
  const budgetUsd = calls * callUsd
  const config: Document = {
    log: { level: 'error' },
    providers: model.providers,
    ...(databaseUrl !== undefined && { storage: { url: databaseUrl } }),
    agents: {
      defaults: {
        model: 'double/m',
        models: [{ id: 'double/m', price: { input: 1000, output: 1000 } }],
        maxConcurrent,
        maxAttempts: 20,
        heartbeat: { every: 0 },
      },
    },
    hooks: {
      enabled: true,
      token: 'hook-token-of-the-storm-0123456789',
      budget: [{ per: '30d', usd: budgetUsd }],
      mappings: [mapping('storm', { auth: { scheme: 'hmac', header: 'x-sign', secrets: [secret] } })],
    },
  }
  const start = async (index: number): Promise<GatewayProcess> => {
    const dir = join(root, `gateway-${databaseUrl === undefined ? 0 : index}`)
    mkdirSync(dir, { recursive: true })
    const gateway = await spawnGateway(writeConfig(dir, config))
    onTestFinished(async () => void (await gateway.end('SIGKILL')))
    return gateway
  }
  const running = await Promise.all(Array.from({ length: count }, (_, index) => start(index)))
  const statuses = new Map<number, number>()

  /** Sends until a gateway answers, as a sender does. */
  async function send(n: number): Promise<void> {
    const body = JSON.stringify({ n })
    const headers = { 'x-sign': createHmac('sha256', secret).update(body).digest('hex'), 'idempotency-key': `w${n}` }
    for (let tries = 0; ; tries++) {
      const { url } = running[(n + tries) % count] as GatewayProcess
      try {
        const { status } = await ask(`${url}/hooks/storm`, { method: 'POST', body, headers })
        if (status !== 503) return void statuses.set(status, (statuses.get(status) ?? 0) + 1)
      } catch {
        // The gateway was killed.
      }
      await delay(20)
    }
  }

  let next = 0
  const senders = Array.from({ length: 40 }, async () => {
    while (next < webhooks) await send(next++)
  })
  const killer = (async () => {
    for (let kill = 0; kill < kills; kill++) {
      const spentCalls = Math.floor(((kill + 1) * calls) / (kills + 1))
      await expect.poll(() => model.requests.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(spentCalls)
      const index = kill % count
      await running[index]?.end('SIGKILL')
      running[index] = await start(index)
    }
  })()
  await Promise.all([...senders, killer])
  await untilIdle(() => running[0] as GatewayProcess)
  for (let n = 0; n < count; n++) await send(webhooks + n)
  expect(statuses.get(429)).toBeGreaterThanOrEqual(count)
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 429)).toEqual([])
  await Promise.all(running.map((gateway) => gateway.end('SIGTERM')))

  const found = await readCounts(databaseUrl ?? join(root, 'gateway-0', 'state', 'gateway.db'))
  expect(found.counted).toEqual(found.stored)
  const spent = found.stored.nanoUsd / nanosOf(callUsd)
  expect(spent).toBeGreaterThanOrEqual(calls)
  expect(spent).toBeLessThanOrEqual(calls + maxConcurrent)
  expect(found.stored.tokens).toBe(Math.round(spent) * callTokens)
  // A call whose gateway was killed cost money, too, and is made again.
  expect(model.requests.length - spent).toBeLessThanOrEqual(kills * maxConcurrent)
}

/** Waits until no run is left. */
async function untilIdle(gateway: () => GatewayProcess): Promise<void> {
  const count = async (status: string): Promise<number> => {
    const headers = { authorization: `Bearer ${gatewayToken}` }
    const { body } = await ask(`${gateway().url}/api/runs?status=${status}&limit=1`, { headers })
    return body.items.length
  }
  const left = async (): Promise<number> => (await count('queued')) + (await count('running'))
  // The runs of a gateway that was killed wait for the end of their lease.
  await expect.poll(left, { timeout: 300_000, interval: 200 }).toBe(0)
}

interface Sums {
  runs: number
  tokens: number
  nanoUsd: number
}

const countedSql = `
  SELECT CAST(sum(runs) AS BIGINT) AS runs, CAST(sum(tokens) AS BIGINT) AS tokens,
    CAST(sum(nano_usd) AS BIGINT) AS "nanoUsd" FROM budget_usage WHERE scope = 'hook storm'`

/** What the counters say, and what the runs and their steps add up to. */
async function readCounts(store: string): Promise<{ counted: Sums; stored: Sums }> {
  const read = store.startsWith('postgres') ? (sql: string) => query(store, sql) : readSqlite(store)
  const [counted] = await read(countedSql)
  const [runs] = await read('SELECT count(*) AS runs FROM run')
  const usages = (await read(`SELECT detail FROM step WHERE kind = 'model'`)).map(
    ({ detail }) => (JSON.parse(String(detail)) as { usage?: { totalTokens: number; costNanoUsd: number } }).usage,
  )
  const sum = (pick: (usage: { totalTokens: number; costNanoUsd: number }) => number): number =>
    usages.reduce((total, usage) => total + (usage ? pick(usage) : 0), 0)
  return {
    counted: toSums(counted),
    stored: {
      runs: Number(runs?.['runs']),
      tokens: sum(({ totalTokens }) => totalTokens),
      nanoUsd: sum(({ costNanoUsd }) => costNanoUsd),
    },
  }
}

const toSums = (row: Record<string, unknown> = {}): Sums => ({
  runs: Number(row['runs']),
  tokens: Number(row['tokens']),
  nanoUsd: Number(row['nanoUsd']),
})

function readSqlite(file: string): (sql: string) => Promise<Record<string, unknown>[]> {
  return async (sql) => {
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      return db.prepare(sql).all()
    } finally {
      db.close()
    }
  }
}
