// The store contract: steps of runs are stored under the fencing token of their run, and closed with its end.
import { describe, expect, it } from 'vitest'
import { silentLog } from '../../core/loader/extension-log.ts'
import { createRetention } from '../../core/store/retention.ts'
import type { OpenStore } from './open-store.ts'
import { claim, newAudit, newStep, runEnd, start, startRun } from './store-samples.ts'

const running = { status: 'running', endedAt: null } as const

export function stepsContract(opened: OpenStore): void {
  describe('steps', () => {
    it('are stored and changed by their numbers, and listed in their order', async () => {
      const run = await startRun(opened.store)
      const [first, second] = [newStep({ number: 1 }), newStep({ number: 2, ...running, message: null })]
      expect(await opened.store.recordSteps(run, { steps: [first, second], count: 2 })).toBe(true)
      const ended = newStep({ number: 2, content: { args: {}, result: 'b' } })
      expect(await opened.store.recordSteps(run, { steps: [ended], count: 2 })).toBe(true)
      await opened.reopen()
      const { store } = opened
      expect(await store.readSteps(run.id)).toEqual([first, ended])
      const { message: _, ...listed } = ended
      expect(await store.listSteps(run.id, { limit: 1 })).toMatchObject({ items: [{ number: 1 }], next: 1 })
      expect(await store.listSteps(run.id, { after: 1, limit: 1 })).toEqual({ items: [listed] })
      expect(await store.getRun(run.id)).toMatchObject({ steps: 2, lastProgress: 1 })
    })

    it('with a stale fencing token change nothing', async () => {
      const { store } = opened
      const stale = await startRun(store)
      await store.recoverExpiredRuns(start + 60_000)
      expect(await store.recordSteps(stale, { steps: [newStep()], count: 1 })).toBe(false)
      const [current] = await claim(store, { at: start + 60_000 })
      expect(await store.recordSteps(stale, { steps: [newStep()], count: 1 })).toBe(false)
      expect(await store.recordSteps(current!, { steps: [newStep()], count: 1 })).toBe(true)
      await store.endRun(current!, runEnd())
      expect(await store.recordSteps(current!, { steps: [newStep({ number: 2 })], count: 2 })).toBe(false)
      expect(await store.readSteps(stale.id)).toHaveLength(1)
    })

    it('are closed by the end of the run, which stores the last one', async () => {
      const { store } = opened
      const run = await startRun(store)
      const steps = [newStep({ number: 1 }), newStep({ number: 2, ...running })]
      await store.recordSteps(run, { steps, count: 2 })
      const last = newStep({ number: 3, message: null })
      await store.endRun(run, runEnd({ at: start + 9, steps: [last] }))
      expect(await store.readSteps(run.id)).toEqual([
        { ...steps[0], message: null },
        { ...steps[1], status: 'interrupted', endedAt: start + 9, message: null },
        last,
      ])
      expect(await store.getRun(run.id)).toMatchObject({ steps: 3 })
    })

    it('lose contents that they get when they are old, as those of a call that has waited for its approval', async () => {
      const { store } = opened
      const run = await startRun(store)
      const old = { ...newStep({ startedAt: 1 }), content: { args: {}, error: 'no secret', thrown: 'secret' } }
      const contents = async () => (await store.readSteps(run.id)).map(({ content }) => content)
      const limits = { days: 0, bodyHours: 1, usageDays: 0, maxMb: 0, auditDays: 0 }
      const retention = createRetention({ store, limits: () => limits, log: silentLog })
      await store.recordSteps(run, { steps: [{ ...old, status: 'waiting', endedAt: null }], count: 1 })
      retention.start()
      await expect.poll(contents).toEqual([null])
      await store.recordSteps(run, { steps: [old], count: 1 })
      expect(await contents()).toEqual([old.content])
      retention.notify()
      await expect.poll(contents).toEqual([null])
      await retention.close()
      await store.endRun(run, runEnd())
    })

    it('keep their contents as long as the run if bodyHours is 0', async () => {
      const { store } = opened
      const run = await startRun(store)
      await store.recordSteps(run, { steps: [newStep({ startedAt: 1 })], count: 1 })
      await store.recordAudit({ ...newAudit(), at: 1, outcome: 'done' })
      const limits = { days: 0, bodyHours: 0, usageDays: 0, maxMb: 0, auditDays: 1 }
      const retention = createRetention({ store, limits: () => limits, log: silentLog })
      retention.start()
      // The audit log is purged after all contents.
      await expect.poll(async () => (await store.listAudit({}, { limit: 1 })).items).toEqual([])
      await retention.close()
      expect((await store.readSteps(run.id)).map(({ content }) => content)).toEqual([newStep().content])
    })

    it('are purged with their run, and what was said in them before', async () => {
      const { store } = opened
      const run = await startRun(store)
      await store.endRun(run, runEnd({ steps: [newStep({ startedAt: start })] }))
      expect(await store.purgeStepContents({ before: start })).toMatchObject({ count: 0, more: false })
      const { count, last } = await store.purgeStepContents({ before: start + 1 })
      expect(count).toBe(1)
      expect(await store.purgeStepContents({ before: start + 1, from: last })).toMatchObject({ count: 0 })
      expect(await store.readSteps(run.id)).toMatchObject([{ number: 1, content: null, detail: { tool: 'read' } }])
      await store.purge({ before: start + 1 })
      expect(await store.readSteps(run.id)).toEqual([])
    })
  })

  describe('the attempts of a run', () => {
    it('count only if they completed no step, up to ten times as many', async () => {
      const { store } = opened
      let run = await startRun(store, { maxAttempts: 2 })
      for (let attempt = 1; attempt < 20; attempt++) {
        await store.recordSteps(run, { steps: [newStep({ number: attempt })], count: attempt })
        expect(await store.recoverExpiredRuns(start + 60_000)).toEqual({ queued: 1, exhausted: [] })
        ;[run] = (await claim(store)) as [typeof run]
      }
      await store.recordSteps(run, { steps: [newStep({ number: 20 })], count: 20 })
      expect(await store.recoverExpiredRuns(start + 60_000)).toMatchObject({ queued: 0, exhausted: [{ attempt: 20 }] })
    })

    it('are exhausted after as many in a row without a completed step', async () => {
      const { store } = opened
      const first = await startRun(store, { maxAttempts: 2 })
      await store.recordSteps(first, { steps: [newStep()], count: 1 })
      await store.recoverExpiredRuns(start + 60_000)
      for (let attempt = 2; attempt <= 3; attempt++) {
        const [run] = await claim(store)
        await store.recordSteps(run!, { steps: [newStep({ number: 2, ...running })], count: 2 })
        if (attempt === 2) expect((await store.recoverExpiredRuns(start + 60_000)).queued).toBe(1)
      }
      expect((await store.recoverExpiredRuns(start + 60_000)).exhausted).toMatchObject([
        { attempt: 3, lastProgress: 1 },
      ])
    })

    it('say when they began and ended, and why', async () => {
      const { store } = opened
      const run = await startRun(store)
      await store.recoverExpiredRuns(start + 60_000)
      const [second] = await claim(store, { at: start + 60_000 })
      await store.releaseRun(second!, start + 60_001)
      const [third] = await claim(store, { at: start + 60_002 })
      const error = { type: 'model_failed', message: 'It said "no".' }
      const retry = { notBefore: start + 70_000, provider: 'claude', aside: false, result: { error } }
      await store.releaseRun(third!, start + 60_003, retry)
      expect((await store.getRun(run.id))?.attempts).toEqual([
        { startedAt: start, endedAt: start + 60_000, reason: 'interrupted' },
        { startedAt: start + 60_000, endedAt: start + 60_001, reason: 'stopped' },
        { startedAt: start + 60_002, endedAt: start + 60_003, reason: 'It said "no".' },
      ])
    })
  })
}
