// Fills both engines with a million requests and events and a hundred thousand sessions: plans stay plans of indexes.
// Prints how long a start takes, and how many requests per second are accepted compared with an empty store.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client, types } from 'pg'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { type OperationName, operations, perform, type StoreCall } from '../../core/store/operations.ts'
import { connect } from '../../core/store/sqlite/connection.ts'
import { createTransaction, createTranslation } from '../../core/store/postgres/transaction.ts'
import type { Transaction, Value } from '../../core/store/transaction.ts'
import type { Order, Result } from '../bench/load.ts'
import { type Server, startLoaded, token } from '../bench/servers.ts'
import { temporaryFolder } from '../helpers.ts'
import { createDatabase, query } from '../postgres.ts'
import { share } from '../share.ts'
import { silent } from '../store/acknowledging.ts'
import { addSampleRows, createSamples, withoutSql } from '../store/operation-samples.ts'
import { openStore } from '../store/open-store.ts'

const [requests, sessions] = [1_000_000, 100_000]
/** Long ago for retention, but rows must not be purged during the test. */
const at = Date.now() - 3_600_000

const numbers = (count: number): string =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`

/** Both engines understand the statements. */
const fillStatements = [
  `${numbers(requests)} INSERT INTO request (id, at, hook, client, status, result, awaited, headers, body)
   SELECT 'old-request-' || n, ${at} + n, CASE n % 3 WHEN 0 THEN 'wake' WHEN 1 THEN 'agent' ELSE 'github' END,
     '10.0.0.1', CASE n % 50 WHEN 0 THEN 'rejected' ELSE 'accepted' END, '{}', 0, '{"content-type":"application/json"}',
     '{"text":"the text of request ' || n || '"}' FROM numbers`,
  `${numbers(requests)} INSERT INTO event (id, session_key, text, mode, source, trusted, at, run_id,
     rendered_at, request_id)
   SELECT 'old-event-' || n, 'agent:main:s' || (n % ${sessions}), 'the text of event ' || n, 'next-heartbeat',
     'webhook wake',
     0, ${at} + n, 'old-run-' || (n % ${sessions}), ${at} + n, 'old-request-' || n FROM numbers`,
  `${numbers(sessions)} INSERT INTO session (key, agent_id, updated_at, unnamed)
   SELECT 'agent:main:s' || n, 'main', ${at} + n, n % 2 FROM numbers`,
  `${numbers(sessions)} INSERT INTO run (id, kind, agent_id, session_key, spec, status, attempt, max_attempts,
     fencing_token, result, created_at, started_at, ended_at, message)
   SELECT 'old-run-' || n, 'hook', 'main', 'agent:main:s' || n, '{}',
     CASE n % 20 WHEN 0 THEN 'failed' ELSE 'succeeded' END,
     1, 2, 1, '{"reply":"Done"}', ${at} + n, ${at} + n, ${at} + n, 'the message of run ' || n FROM numbers`,
  `${numbers(2 * sessions)} INSERT INTO transcript (session_key, run_id, message, at)
   SELECT 'agent:main:s' || (n % ${sessions}), 'old-run-' || (n % ${sessions}), '{"text":"entry ' || n || '"}',
     ${at} + n
   FROM numbers`,
  `${numbers(sessions)} INSERT INTO outbox (id, run_id, channel, account_id, recipient, route, text, status, attempt,
     fencing_token, chunks_sent, uncertain, next_at, created_at, ended_at)
   SELECT 'old-delivery-' || n, 'old-run-' || n, 'console', 'default', 'person ' || (n % 1000), 'null',
     'the reply ' || n,
     CASE n % 100 WHEN 0 THEN 'failed' ELSE 'sent' END, 1, 1, 1, 0, ${at} + n, ${at} + n, ${at} + n FROM numbers`,
  `${numbers(sessions)} INSERT INTO idempotency (scope, key, body_hash, expires_at, reply)
   SELECT 'agent', 'key-' || n, 'hash', ${at + 86_400_000} + n, '{"runId":"old-run-' || n || '"}' FROM numbers`,
]

const numbered = ['request', 'event', 'run', 'transcript', 'outbox']
const bigTables = new Set([...numbered, 'session', 'idempotency'])

interface Engine {
  url: string
  dir: string
  fill(): Promise<void>
  /** Runs `work` in a transaction that is rolled back. */
  rollBack(work: (tx: Transaction) => Promise<unknown>): Promise<void>
  /** The large tables that a statement reads as a whole. */
  scansOf(tx: Transaction, sql: string, values: Value[]): Promise<string[]>
  megabytes(): Promise<number>
}

/** PostgreSQL's number for the type BIGINT. */
const int8 = 20

const rolledBack = new Error('rolled back')

async function startSqlite(): Promise<Engine> {
  const dir = temporaryFolder()
  const path = join(dir, 'state/gateway.db')
  return {
    url: 'sqlite:state/gateway.db',
    dir,
    fill: async () => {
      const db = new DatabaseSync(path)
      for (const sql of fillStatements) db.exec(sql)
      db.close()
    },
    rollBack: async (work) => {
      const { transact, tx, close } = await connect(path)
      const ended = transact(async () => {
        await work(tx)
        throw rolledBack
      })
      await expect(ended).rejects.toBe(rolledBack)
      await close()
    },
    scansOf: async (tx, sql, values) => {
      const steps = await tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
      return steps.flatMap(({ detail }) => {
        const [, table = ''] = /^SCAN (\w+)$/.exec(detail) ?? []
        return bigTables.has(table) ? [table] : []
      })
    },
    megabytes: async () => statSync(path).size / 1e6,
  }
}

async function startPostgres(): Promise<Engine> {
  const { url, remove } = await createDatabase(inject('postgresUrl'))
  databases.push(remove)
  return {
    url,
    dir: temporaryFolder(),
    fill: async () => {
      for (const sql of fillStatements) await query(url, sql)
      for (const name of numbered)
        await query(url, `SELECT setval(pg_get_serial_sequence('${name}', 'seq'), (SELECT max(seq) FROM ${name}))`)
      // As autovacuum does by itself within a minute.
      await query(url, 'VACUUM ANALYZE')
    },
    rollBack: async (work) => {
      const getTypeParser = (oid: number) => (oid === int8 ? Number : types.getTypeParser(oid))
      const client = new Client({ connectionString: url, pipeline: true, types: { getTypeParser } })
      await client.connect()
      try {
        await client.query('BEGIN')
        await work(createTransaction(client, createTranslation()))
      } finally {
        await client.end()
      }
    },
    scansOf: async (tx, sql, values) => {
      const [row] = await tx.all<{ 'QUERY PLAN': unknown }>(`EXPLAIN (FORMAT JSON) ${sql}`, ...values)
      return listSeqScans(row?.['QUERY PLAN']).filter((table) => bigTables.has(table))
    },
    megabytes: async () => {
      const [row] = await query(url, 'SELECT pg_database_size(current_database()) AS bytes')
      return Number(row?.['bytes']) / 1e6
    },
  }
}

const databases: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const remove of databases) await remove()
})

function listSeqScans(plan: unknown): string[] {
  if (Array.isArray(plan)) return plan.flatMap(listSeqScans)
  if (typeof plan !== 'object' || plan === null) return []
  const { 'Node Type': type, 'Relation Name': table } = plan as Record<string, unknown>
  return [...(type === 'Seq Scan' ? [String(table)] : []), ...Object.values(plan).flatMap(listSeqScans)]
}

/** Asserts the plan of each statement before it runs. */
function explain(tx: Transaction, scansOf: Engine['scansOf'], found: string[]): Transaction {
  const seen = new Set<string>()
  const check = async (sql: string, values: Value[]): Promise<void> => {
    if (seen.has(sql)) return
    seen.add(sql)
    for (const table of await scansOf(tx, sql, values)) found.push(`${table}: ${sql.replaceAll(/\s+/g, ' ').trim()}`)
  }
  return {
    ...tx,
    all: async <Row>(sql: string, ...values: Value[]) => {
      await check(sql, values)
      return await tx.all<Row>(sql, ...values)
    },
    run: async (sql, ...values) => {
      await check(sql, values)
      return await tx.run(sql, ...values)
    },
  }
}

const load = fork(join(import.meta.dirname, '../bench/load.ts'))
afterAll(() => void load.kill())

const orders = {
  wake: { path: '/hooks/wake', body: '{"text":"$","mode":"next-heartbeat"}' },
  agent: { path: '/hooks/agent', body: '{"message":"$","wakeMode":"next-heartbeat","deliver":false}' },
}

async function measure({ url, cpuSeconds }: Server, order: Pick<Order, 'path' | 'body'>): Promise<Rate> {
  const cpuBefore = cpuSeconds()
  const answered = once(load, 'message')
  load.send({ ...order, url, token, connections: 32, seconds: 1 } satisfies Order)
  const [{ result, error }] = (await answered) as [{ result?: Result; error?: string }]
  if (!result) throw new Error(error)
  const cpuMs = (1000 * (cpuSeconds() - cpuBefore)) / result.requests
  return { perSecond: result.requests / result.seconds, cpuMs }
}

interface Rate {
  perSecond: number
  /** Processor time of the gateway for one request. It depends less on what else the machine does. */
  cpuMs: number
}

const rounds = 10

/** In turns, and the median of all turns, because the machine may be busy with something else at times. */
async function compare(name: keyof typeof orders, { empty, full }: { empty: Server; full: Server }): Promise<string> {
  const turns: { perSecond: number; rate: number; cpu: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const before = await measure(empty, orders[name])
    const after = await measure(full, orders[name])
    const [rate, cpu] = [after.perSecond / before.perSecond, after.cpuMs / before.cpuMs]
    turns.push({ perSecond: after.perSecond, rate, cpu })
  }
  const median = (key: 'perSecond' | 'rate' | 'cpu'): number =>
    turns.map((turn) => turn[key]).toSorted((a, b) => a - b)[rounds / 2] ?? Number.NaN
  const rate = `${median('perSecond').toFixed()}/s, ${median('rate').toFixed(2)} of an empty store`
  return `${name} ${rate}, with ${median('cpu').toFixed(2)} of its processor time`
}

describe.each([
  ['SQLite', startSqlite],
  ['PostgreSQL', startPostgres],
] as const)('a full store of %s', (name, startEngine) => {
  const shared = share(async () => {
    const [empty, full] = [await startEngine(), await startEngine()]
    for (const { url, dir } of [empty, full]) await (await openStore({ url, dir, log: silent })).close()
    await full.fill()
    return { empty, full }
  })

  it('is read by indexes only', async () => {
    const { rollBack, scansOf } = shared().full
    const samples = createSamples({ before: requests / 2, limit: 9 })
    const found: string[] = []
    for (const operation of Object.keys(operations) as OperationName[])
      if (!withoutSql.has(operation))
        for (const args of samples[operation])
          await rollBack(async (tx) => {
            await addSampleRows(tx)
            await perform(explain(tx, scansOf, found), [operation, args] as StoreCall)
          })
    expect(found).toEqual([])
  })

  it('accepts requests beside an empty one', async () => {
    const { empty, full } = shared()
    const start = ({ url, dir }: Engine): Promise<Server> => startLoaded(dir, 2, { storage: { url } })
    const servers = { empty: await start(empty), full: await start(full) }
    const startMs = (which: keyof typeof servers): string => `${servers[which].firstAnswerMs.toFixed()} ms`
    const lines = [
      `${name}, ${(await full.megabytes()).toFixed()} MB:`,
      `first response ${startMs('full')} after the start (empty store: ${startMs('empty')});`,
      `${await compare('wake', servers)}; ${await compare('agent', servers)}`,
    ]
    await Promise.all([servers.empty.stop(), servers.full.stop()])
    process.stdout.write(`${lines.join(' ')}\n`)
    // Each measurement throws if a request is not accepted.
    expect(lines.join(' ')).not.toContain('NaN')
  })
})
