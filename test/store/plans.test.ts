// Query plans: every operation finds its rows by an index, however long the queue and the history are.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OperationName, operations, perform, type StoreCall } from '../../core/store/operations.ts'
import { type SqliteConnection, connect, toInsertSql } from '../../core/store/sqlite/connection.ts'
import type { Transaction } from '../../core/store/transaction.ts'
import { newRequest, newEvent, newDelivery, newRun, start } from '../contracts/store-samples.ts'
import { accept, addSampleRows, createSamples, held, withoutSql } from './operation-samples.ts'

const samples = createSamples({ before: 9, limit: 9 })

/** Indexes that hold only live rows or are read up to a limit, the few leases, and subqueries of such rows. */
const shortIndexes =
  /INDEX (run_queue|run_lease|run_retry|run_asked|approval_waiting|outbox_due|outbox_lease|event_waiting|schedule_due|session_newest)$/
const shortTables = /^SCAN (lease|CONSTANT ROW|limited|waiting|head|expired|subagent|above|root|tree|\(subquery-\d+\))$/

describe('the plan of an operation', () => {
  let dir: string
  let connection: SqliteConnection
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'store-plans-'))
    connection = await connect(join(dir, 'plans.db'))
  })
  afterAll(async () => {
    await connection.close()
    await rm(dir, { recursive: true })
  })

  it.each((Object.keys(operations) as OperationName[]).filter((name) => !withoutSql.has(name)))(
    '%s scans no table',
    async (name) => {
      const statements = new Set<string>()
      for (const args of samples[name])
        await rollBack(() => perform(recordStatements(connection.tx, statements), [name, args] as StoreCall))
      expect(statements.size).toBeGreaterThan(0)
      for (const sql of statements) expect(await scansOf(sql)).toEqual([])
    },
  )

  it.each([
    ['listRuns', [{ agentId: 'main' }, { limit: 2 }]],
    ['listRuns', [{ sessionKey: 'agent:main:one' }, { limit: 1 }]],
    ['listDeliveries', [{ channel: 'pager' }, { limit: 2 }]],
    ['listDeliveries', [{ status: 'failed' }, { limit: 2 }]],
    ['listRequests', [{ hook: 'agent' }, { limit: 2 }]],
    ['listTranscript', ['agent:main:one', { limit: 2 }]],
    ['listWaitingEvents', ['agent:main:one', { count: 99, characters: 1000 }]],
    ['claimEvents', [held, 'agent:main:one', { count: 99, characters: 1000 }]],
  ] satisfies StoreCall[])('%s %j reads the long texts of its own rows only', async (name, args) => {
    const long = 'x'.repeat(100_000)
    let characters = 0
    await rollBack(async () => {
      const { tx } = connection
      for (let n = 0; n < 20; n++) {
        await accept(tx, {
          at: start,
          request: newRequest({ hook: 'agent', body: long }),
          events: [newEvent({ text: long })],
        })
        const run = newRun({
          id: `long-${n}`,
          sessionKey: n < 10 ? 'agent:main:one' : 'other',
          spec: { ...newRun().spec, message: long },
        })
        await accept(tx, {
          at: start,
          runs: [run],
          deliveries: [newDelivery({ text: long, status: 'failed', reason: 'no' })],
        })
        await tx.run(
          `UPDATE run SET status = 'failed', result = ? WHERE id = ?`,
          JSON.stringify({ reply: long }),
          run.id,
        )
        await tx.run(
          `INSERT INTO transcript (session_key, run_id, message, at) VALUES (?, ?, ?, ?)`,
          'agent:main:one',
          run.id,
          JSON.stringify(long),
          start,
        )
      }
      await perform(
        countCharacters(tx, (read) => (characters += read)),
        [name, args] as unknown as StoreCall,
      )
    })
    expect(characters).toBeGreaterThan(0)
    expect(characters).toBeLessThan(3 * 100_000)
  })

  /** Performs the work on a few rows and rolls it back. */
  async function rollBack(work: () => Promise<unknown>): Promise<void> {
    const stop = new Error('rolled back')
    const { tx } = connection
    await connection
      .transact(async () => {
        await addSampleRows(tx)
        await work()
        throw stop
      })
      .catch((error: unknown) => expect(error).toBe(stop))
  }

  /** The steps of a plan that read a whole table or index, except for short ones. */
  async function scansOf(sql: string): Promise<string[]> {
    const values = Array.from(sql.matchAll(/\?/g), () => null)
    const steps = await connection.tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
    const isShort = (detail: string): boolean => shortIndexes.test(detail) || shortTables.test(detail)
    return steps.map(({ detail }) => detail).filter((detail) => detail.startsWith('SCAN') && !isShort(detail))
  }
})

const recordStatements = (tx: Transaction, statements: Set<string>): Transaction => ({
  all<Row>(sql: string, ...values: (string | number | null)[]) {
    statements.add(sql)
    return tx.all<Row>(sql, ...values)
  },
  run(sql, ...values) {
    statements.add(sql)
    return tx.run(sql, ...values)
  },
  insert(insertion, rows, ...values) {
    statements.add(toInsertSql(insertion))
    return tx.insert(insertion, rows, ...values)
  },
  getSpace: () => tx.getSpace(),
  reclaimSpace: (bytes) => tx.reclaimSpace(bytes),
})

/** Counts the characters of all rows that are read. */
const countCharacters = (tx: Transaction, count: (characters: number) => void): Transaction => ({
  ...tx,
  async all<Row>(sql: string, ...values: (string | number | null)[]) {
    const rows = await tx.all<Row>(sql, ...values)
    count(JSON.stringify(rows).length)
    return rows
  },
})
