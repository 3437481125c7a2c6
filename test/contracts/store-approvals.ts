// The store contract: approvals are stored with the steps that wait for them, answered once, and end with their run.
import { describe, expect, it } from 'vitest'
import type { NewApproval, Store, StoredRun } from '../../core/store/store.ts'
import type { OpenStore } from './open-store.ts'
import {
  cancelledEnd,
  claim,
  newApproval,
  newDelivery,
  newRun,
  newStep,
  runEnd,
  start,
  startRun,
} from './store-samples.ts'

const answer = {
  status: 'approved',
  at: start + 1,
  by: { role: 'approver', via: 'pager', id: '42' },
  reason: null,
  deliveries: [],
} as const
const waiting = { status: 'waiting', endedAt: null, message: null } as const
const channelRun = (id: string) =>
  newRun({ id, kind: 'channel', spec: { ...newRun().spec, origin: { kind: 'channel', name: 'pager', trusted: true } } })

/** A running run with steps that wait, one for each approval. */
async function askFor(store: Store, changes: readonly Partial<NewApproval>[] = [{}]): Promise<StoredRun> {
  const run = await startRun(store)
  const approvals = changes.map((change, index) => newApproval({ runId: run.id, step: index + 1, ...change }))
  const steps = approvals.map(({ step }) => newStep({ number: step, ...waiting }))
  await store.recordSteps(run, { steps, count: steps.length, asked: { at: start, approvals, deliveries: [] } })
  return run
}

async function askedOf(store: Store, run: StoredRun): Promise<string> {
  return (await store.readRunApprovals(run.id))[0]?.id ?? ''
}

export function approvalsContract(opened: OpenStore): void {
  describe('approvals', () => {
    it('are stored with the steps and the message that asks, and let their run wait', async () => {
      const run = await startRun(opened.store)
      const asked = {
        at: start,
        approvals: [newApproval({ id: 'a', runId: run.id, codeHash: 'b' })],
        deliveries: [newDelivery({ id: 'question' })],
      }
      await opened.store.recordSteps(run, { steps: [newStep(waiting)], count: 1, asked })
      expect(await opened.store.suspendRun(run, start + 5)).toBe('waiting')
      await opened.reopen()
      const { store } = opened
      const { keepsContent: _, ...stored } = asked.approvals[0]!
      const expected = {
        ...stored,
        status: 'waiting',
        createdAt: start,
        answeredAt: null,
        answeredBy: null,
        reason: null,
      }
      expect(await store.getApproval('a')).toMatchObject(expected)
      expect(await store.findApproval('b')).toMatchObject(expected)
      expect(await store.listApprovals({ status: 'waiting' }, { limit: 9 })).toMatchObject({ items: [expected] })
      expect(await store.listApprovals({ status: 'denied' }, { limit: 9 })).toEqual({ items: [] })
      expect(await store.getDelivery('question')).toMatchObject({ status: 'pending' })
      expect(await store.getRun(run.id)).toMatchObject({
        status: 'waiting',
        attempt: 0,
        attempts: [{ endedAt: start + 5, reason: 'waiting' }],
      })
      expect(await store.listRuns({ status: 'waiting' }, { limit: 9 })).toMatchObject({ items: [{ id: run.id }] })
      expect(await store.listRuns({ sessionKey: run.sessionKey }, { limit: 9 })).toMatchObject({
        items: [{ id: run.id }],
      })
      expect(await store.getSessionCounts(run.sessionKey)).toMatchObject({ running: 0, queued: 0, waiting: 1 })
      expect(await store.getLiveCounts()).toMatchObject({ approvals: 1, runs: { running: 0, waiting: 1 } })
    })

    it('are answered once, which returns the run to the queue', async () => {
      const { store } = opened
      const run = await askFor(store)
      const id = await askedOf(store, run)
      await store.suspendRun(run, start)
      expect(await claim(store)).toEqual([])
      const notice = newDelivery({ id: 'answered' })
      expect(await store.answerApproval(id, { ...answer, deliveries: [notice] })).toBe(true)
      expect(await store.answerApproval(id, { ...answer, status: 'denied' })).toBe(false)
      expect(await store.getApproval(id)).toMatchObject({
        status: 'approved',
        answeredAt: start + 1,
        answeredBy: answer.by,
      })
      expect(await store.getDelivery('answered')).toMatchObject({ status: 'pending' })
      expect(await claim(store)).toMatchObject([{ id: run.id, steps: 1 }])
    })

    it('that were answered while the run was busy do not let it wait', async () => {
      const { store } = opened
      const run = await askFor(store, [{}, {}])
      expect(await store.answerApproval(await askedOf(store, run), answer)).toBe(true)
      expect(await store.getRun(run.id)).toMatchObject({ status: 'running' })
      expect(await store.suspendRun(run, start)).toBe('queued')
      const [again] = await claim(store)
      // The call was made; the other one still waits.
      await store.recordSteps(again!, { steps: [newStep({ number: 1 })], count: 2 })
      expect(await store.suspendRun(again!, start)).toBe('waiting')
      expect(await store.suspendRun(again!, start)).toBeUndefined()
    })

    it('take no answer after their time, and expire no sooner', async () => {
      const { store } = opened
      const run = await askFor(store, [{ expiresAt: start + 10 }])
      const id = await askedOf(store, run)
      expect(await store.getNextApprovalExpiry()).toBe(start + 10)
      const expired = { ...answer, status: 'expired', by: null } as const
      expect(await store.listDueApprovals(start + 9)).toEqual([])
      expect(await store.answerApproval(id, { ...expired, at: start + 9 })).toBe(false)
      expect(await store.answerApproval(id, { ...answer, at: start + 10 })).toBe(false)
      expect(await store.listDueApprovals(start + 10)).toMatchObject([{ id }])
      expect(await store.answerApproval(id, { ...expired, at: start + 10 })).toBe(true)
      expect(await store.getNextApprovalExpiry()).toBeUndefined()
      expect(await store.suspendRun(run, start)).toBe('queued')
    })

    it('end when the caller of a call that no run makes has not said for a while that it waits', async () => {
      const { store } = opened
      const ask = (id: string) =>
        store.createApproval({
          at: start,
          approvals: [newApproval({ id, runId: '', awaitedUntil: start + 10 })],
          deliveries: [],
        })
      await Promise.all([ask('gone'), ask('patient')])
      expect(await store.getNextApprovalExpiry()).toBe(start + 10)
      await store.extendApproval('patient', start + 20)
      expect(await store.listDueApprovals(start + 10)).toMatchObject([{ id: 'gone', awaitedUntil: start + 10 }])
      for (const status of ['approved', 'denied'] as const)
        expect(await store.answerApproval('gone', { ...answer, status, at: start + 10 })).toBe(false)
      const cancelled = { ...answer, status: 'cancelled', by: null, at: start + 10 } as const
      expect(await store.answerApproval('gone', cancelled)).toBe(true)
      expect(await store.answerApproval('gone', cancelled)).toBe(false)
      expect(await store.answerApproval('patient', { ...answer, at: start + 19 })).toBe(true)
      await store.extendApproval('patient', start + 30)
      expect(await store.getApproval('patient')).toMatchObject({ status: 'approved', awaitedUntil: start + 20 })
      expect(await store.getNextApprovalExpiry()).toBeUndefined()
    })

    it('end with their run, whose approver is told, and take no answer then', async () => {
      const { store } = opened
      const run = await askFor(store, [{ keepsContent: false }, {}])
      const [first, second] = await store.readRunApprovals(run.id)
      await store.answerApproval(second!.id, answer)
      await store.suspendRun(run, start)
      const again = await claim(store)
      await store.suspendRun(again[0]!, start)
      const notices = [first!, second!].map(({ id }) => ({ approvalId: id, delivery: newDelivery({ id: `to ${id}` }) }))
      expect(await store.endQueuedRun(run.id, { ...cancelledEnd(), at: start + 3, notices })).toBe(true)
      expect(await store.readRunApprovals(run.id)).toMatchObject([
        { status: 'cancelled', answeredAt: start + 3, args: null },
        { status: 'approved', args: second!.args },
      ])
      expect(await store.getDelivery(`to ${first!.id}`)).toBeDefined()
      expect(await store.getDelivery(`to ${second!.id}`)).toBeUndefined()
      expect(await store.answerApproval(first!.id, answer)).toBe(false)
      expect(await store.readSteps(run.id)).toMatchObject([{ status: 'refused' }, { status: 'refused' }])
      expect(await store.getRun(run.id)).toMatchObject({ status: 'cancelled' })
    })

    it('hold up later runs of the session, but not what people write there', async () => {
      const { store } = opened
      const run = await askFor(store)
      await store.suspendRun(run, start)
      const runs = [
        newRun({ id: 'hook' }),
        channelRun('person'),
        newRun({ id: 'elsewhere', sessionKey: 'agent:main:two' }),
      ]
      await store.accept({ at: start, runs })
      const claimed = await claim(store)
      expect(claimed.map(({ id }) => id)).toEqual(['person', 'elsewhere'])
      await store.answerApproval(await askedOf(store, run), answer)
      // One run at a time, and the one that waited first.
      expect(await claim(store)).toEqual([])
      await store.endRun(claimed[0]!, runEnd())
      const [next] = await claim(store)
      expect(next).toMatchObject({ id: run.id })
      await store.endRun(next!, runEnd())
      expect(await claim(store)).toMatchObject([{ id: 'hook' }])
    })

    it('are purged with their run, and those without one by their age; arguments are purged before', async () => {
      const { store } = opened
      const run = await askFor(store)
      const id = await askedOf(store, run)
      await store.createApproval({ at: start, approvals: [newApproval({ id: 'no run', runId: '' })], deliveries: [] })
      await store.answerApproval(id, answer)
      await store.purgeStepContents({ before: start + 5 })
      // The call is still to be made.
      expect(await store.getApproval(id)).toMatchObject({ args: '{"command":"ls"}' })
      await store.endRun(run, runEnd({ at: start + 2 }))
      await store.purgeStepContents({ before: start + 5 })
      expect(await store.getApproval(id)).toMatchObject({ args: null, status: 'approved' })
      await store.purge({ before: start + 5 })
      expect(await store.getApproval(id)).toBeUndefined()
      expect(await store.getApproval('no run')).toBeDefined()
      await store.answerApproval('no run', { ...answer, status: 'expired', at: start + 60_000, by: null })
      await store.purge({ before: start + 60_001 })
      expect(await store.getApproval('no run')).toBeUndefined()
    })
  })
}
