// Query plans: every operation finds its rows by an index, however long the queue and the history are.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packAccept, type PackedAccept } from '../../../core/store/operations/packed-accept.ts'
import { type OperationName, operations, perform } from '../../../core/store/operations/operations.ts'
import { type SqliteConnection, connect } from '../../../core/store/sqlite/connection.ts'
import type { AcceptCommand, Store } from '../../../core/store/store.ts'
import type { Transaction } from '../../../core/store/transaction.ts'
import {
  cancelledEnd,
  newRequest,
  newEvent,
  newKey,
  newDelivery,
  newRun,
  newSchedule,
  runEnd,
  start,
} from '../../contracts/store-samples.ts'

const held = { id: 'held', fencingToken: 1 }
const claim = { owner: 'me', max: 4, at: start, leaseMs: 1000 }
const page = { before: 9, limit: 9 }
const route = {
  channel: 'pager',
  accountId: 'default',
  to: '1',
  threadId: null,
  route: null,
  sessionKey: 's',
  agentId: 'main',
}

/** For each operation, arguments that make it execute all of its statements. */
const samples: Omit<{ [Name in OperationName]: Parameters<Store[Name]>[] }, 'accept'> & { accept: [PackedAccept][] } = {
  accept: (
    [
      { at: start, deliveries: [newDelivery()], firing: { scheduleId: 'daily', due: start, nextAt: start + 1 } },
      { at: start, firing: { scheduleId: 'daily', due: start, nextAt: null } },
      {
        at: start,
        request: newRequest(),
        idempotency: newKey({ key: 'other' }),
        events: [newEvent()],
        runs: [newRun()],
        route,
      },
      { at: start, idempotency: newKey() },
    ] satisfies AcceptCommand[]
  ).map((command) => [packAccept(command)]),
  recordRefusal: [[{ ...newRequest(), status: 'rejected' }, start]],
  listRequests: [
    [{}, page],
    [{ hook: 'wake', text: 'disk' }, page],
    [{ status: 'rejected' }, page],
    [{ runStatus: 'failed' }, page],
  ],
  getRequest: [['a request']],
  claimRuns: [[claim]],
  renewRun: [[held, start]],
  endRun: [
    [held, runEnd({ transcript: [{ message: 'a' }], events: [newEvent()], deliveries: [newDelivery()] })],
    [held, runEnd({ eventsRendered: false })],
    [held, runEnd({ status: 'failed' })],
  ],
  releaseRun: [[held], [held, { notBefore: start, aside: false, result: {} }]],
  releaseUnheldRuns: [['me', ['held']]],
  recoverExpiredRuns: [[start]],
  retryRun: [['failed', { id: 'again', at: start }]],
  cancelQueuedRun: [['waiting', { ...cancelledEnd(), events: [newEvent()] }]],
  getRun: [['held']],
  listRuns: [
    [{}, page],
    [{ sessionKey: 'agent:main:one' }, page],
    [{ status: 'queued' }, page],
    [{ status: 'running' }, page],
    [{ status: 'failed' }, page],
  ],
  countQueuedRuns: [[]],
  getNextRetryAt: [[start]],
  getExposure: [['agent:main:one']],
  useEffects: [[{ scopes: ['agent:main:one', 'held'], effects: ['sends'] }]],
  claimEvents: [[held, 'agent:main:one', { count: 9, characters: 999 }]],
  listRenderedEvents: [['request']],
  listWaitingEvents: [['agent:main:one', { count: 9, characters: 999 }]],
  countWaitingEvents: [['agent:main:one']],
  listSessionsWithWakes: [[]],
  listWaitingWakes: [[]],
  listTranscript: [['agent:main:one', page]],
  getSession: [['agent:main:one']],
  listSessions: [[{ limit: 9, defaultAgentId: 'main' }], [{ agentId: 'main', limit: 9, defaultAgentId: 'main' }]],
  getSessionCounts: [['agent:main:one']],
  getLastRoute: [['s'], ['s', 'pager']],
  claimDeliveries: [[claim]],
  advanceDelivery: [['m', 1, 1]],
  endDelivery: [
    ['m', 1, { status: 'sent', platformId: null }, start],
    ['m', 1, { status: 'retry', reason: 'busy', nextAt: start, uncertain: false }, start],
  ],
  failDelivery: [['m', { chunk: 0, reason: 'gone', event: newEvent() }, start]],
  recoverExpiredDeliveries: [[start], [start, { channel: 'pager', accountId: 'default', owner: 'me' }]],
  listRunDeliveries: [['held']],
  listDeliveries: [
    [{}, page],
    [{ status: 'failed' }, page],
  ],
  hasKey: [[newKey(), start]],
  getDelivery: [['m']],
  retryDelivery: [['m', start]],
  getNextDeliveryAt: [[]],
  getLiveCounts: [[]],
  addSchedule: [[newSchedule(), { at: start, most: 9 }]],
  listAgentSchedules: [['main']],
  listSchedules: [
    [{}, page],
    [{ agentId: 'main' }, page],
  ],
  removeSchedule: [['daily', 'main']],
  moveSchedule: [['daily', { from: start, to: start + 1 }]],
  listDueSchedules: [[start, 9]],
  getNextScheduleAt: [[]],
  getState: [['pager', 'cursor']],
  setState: [['pager', 'cursor', 1]],
  deleteState: [['pager', 'cursor']],
  acquireLease: [['beat', 'me', start, start]],
  releaseLease: [['beat', 'me']],
  expireLeases: [[]],
  purgeExpiredKeys: [[start]],
  purge: [[{ before: start + 1 }]],
  purgeBodies: [[{ before: start + 1 }]],
  getSpace: [[]],
  reclaimSpace: [[1]],
  probe: [[]],
}

/** Operations of the engine itself. */
const withoutSql: ReadonlySet<OperationName> = new Set(['getSpace', 'reclaimSpace'])

/** Indexes that hold only live rows or are read up to a limit, the few leases, and subqueries of such rows. */
const shortIndexes =
  /INDEX (run_queue|run_lease|run_retry|outbox_due|outbox_lease|event_waiting|schedule_due|session_newest)$/
const shortTables = /^SCAN (lease|CONSTANT ROW|limited|waiting|\(subquery-\d+\))$/

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
        await rollBack(() => perform(recordStatements(connection.tx, statements), [name, args]))
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
  ] satisfies [OperationName, unknown[]][])('%s %j reads the long texts of its own rows only', async (name, args) => {
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
        [name, args],
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
        await accept(tx, {
          at: start,
          idempotency: newKey({ reply: '{"runId":"held"}' }),
          events: [newEvent()],
          runs: [newRun({ id: 'held' }), newRun({ id: 'waiting' }), newRun({ id: 'failed', sessionKey: 'failed' })],
        })
        await accept(tx, { at: start, runs: [newRun({ id: 'over', sessionKey: 'over', unnamedSession: true })] })
        await perform(tx, ['cancelQueuedRun', ['over', cancelledEnd()]])
        await perform(tx, ['claimRuns', [claim]])
        await perform(tx, ['endRun', [{ id: 'failed', fencingToken: 1 }, runEnd({ status: 'failed' })]])
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

const accept = (tx: Transaction, command: AcceptCommand) => perform(tx, ['accept', [packAccept(command)]])
