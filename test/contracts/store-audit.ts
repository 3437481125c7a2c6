// The store contract: the audit log has an entry for each change that was made, and none for one that was not.
import { describe, expect, it } from 'vitest'
import type { AuditFilter, NewAuditEntry } from '../../core/store/store.ts'
import type { OpenStore } from './open-store.ts'
import {
  cancelledEnd,
  claimDelivery,
  newAudit,
  newDelivery,
  newRequest,
  newRun,
  newSchedule,
  post,
  runEnd,
  start,
  startRun,
} from './store-samples.ts'

export function auditContract(opened: OpenStore): void {
  describe('the audit log', () => {
    const list = async (filter: AuditFilter = {}) => (await opened.store.listAudit(filter, { limit: 100 })).items
    const actions = async (): Promise<string[]> => (await list()).map(({ action }) => action)
    const entry = (changes: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
      ...newAudit(),
      at: start,
      outcome: 'done',
      ...changes,
    })

    it('keeps entries, newest first, in pages', async () => {
      const { store } = opened
      const entries = [
        entry({ actor: { kind: 'agent', name: 'main', runId: 'r' }, via: 'tool', address: undefined }),
        entry({ outcome: 'refused', reason: 'forbidden', at: start + 1 }),
        entry({ target: undefined, agentId: undefined, at: start + 2 }),
      ]
      for (const one of entries) await store.recordAudit(one)
      await opened.reopen()
      const [third, second, first] = await list()
      expect([first, second, third]).toMatchObject(entries.map((one) => JSON.parse(JSON.stringify(one))))
      expect(first).not.toHaveProperty('reason')
      const page = await opened.store.listAudit({}, { limit: 2 })
      expect(page.items).toEqual([third, second])
      expect((await opened.store.listAudit({}, { limit: 2, before: page.next })).items).toEqual([first])
    })

    it('is filtered by each of its fields', async () => {
      const { store } = opened
      await store.recordAudit(entry())
      await store.recordAudit(
        entry({
          at: start + 5,
          actor: { kind: 'client', name: 'anna' },
          action: 'run.retry',
          target: 'other',
          agentId: 'ops',
          outcome: 'failed',
          reason: 'conflict',
        }),
      )
      const filters: AuditFilter[] = [
        { actor: 'anna' },
        { action: 'run.retry' },
        { target: 'other' },
        { agentId: 'ops' },
        { agents: ['ops', 'unknown'] },
        { outcome: 'failed' },
        { since: start + 1 },
      ]
      for (const filter of filters) expect((await list(filter)).map(({ target }) => target)).toEqual(['other'])
      expect(await list({ agents: [] })).toEqual([])
    })

    it('cuts long names', async () => {
      await opened.store.recordAudit(entry({ target: 'x'.repeat(5000) }))
      const [{ target } = {}] = await list()
      expect(target).toHaveLength(300)
    })

    it('has the change of a run that was cancelled or retried, once', async () => {
      const { store } = opened
      const waiting = newRun()
      await store.accept({ at: start, runs: [waiting], audit: newAudit({ action: 'chat.send' }) })
      const cancelled = { ...cancelledEnd(), audit: newAudit({ action: 'run.cancel', target: waiting.id }) }
      expect(await store.endQueuedRun(waiting.id, cancelled)).toBe(true)
      expect(await store.endQueuedRun(waiting.id, cancelled)).toBe(false)
      const run = await startRun(store)
      const cancel = { at: start, audit: newAudit({ action: 'run.cancel' }) }
      expect(await store.cancelRunningRun(run.id, cancel)).toBe(true)
      expect(await store.cancelRunningRun(run.id, cancel)).toBe(true)
      await store.endRun(run, runEnd({ status: 'failed' }))
      await store.retryRun(run.id, { id: 'again', at: start }, newAudit({ action: 'run.retry' }))
      await store.retryRun(run.id, { id: 'once more', at: start }, newAudit({ action: 'run.retry' }))
      expect(await actions()).toEqual(['run.retry', 'run.cancel', 'run.cancel', 'chat.send'])
    })

    it('has a request that started nothing', async () => {
      const replayed = newAudit({ action: 'request.replay' })
      await opened.store.recordRefusal({ ...newRequest(), status: 'skipped', audit: replayed }, start)
      await opened.store.recordRefusal({ ...newRequest(), status: 'skipped' }, start)
      expect(await actions()).toEqual(['request.replay'])
    })

    it('has the retry of a delivery, the change of a schedule and of state', async () => {
      const { store } = opened
      await post(store, newDelivery())
      const { id, fencingToken } = await claimDelivery(store)
      const retry = newAudit({ action: 'delivery.retry' })
      expect(await store.retryDelivery(id, start, retry)).toBe(false)
      await store.endDelivery(id, fencingToken, { status: 'failed', reason: 'no' }, start)
      expect(await store.retryDelivery(id, start, retry)).toBe(true)
      const schedule = newSchedule()
      const added = newAudit({ action: 'schedule.add' })
      expect(await store.addSchedule(schedule, { at: start, most: 0, audit: added })).toBe(false)
      expect(await store.addSchedule(schedule, { at: start, most: 1, audit: added })).toBe(true)
      const removed = { at: start, change: newAudit({ action: 'schedule.remove' }) }
      expect(await store.removeSchedule(schedule.id, 'other', removed)).toBe(false)
      expect(await store.removeSchedule(schedule.id, 'main', removed)).toBe(true)
      await store.setState('pairing', 'a', true, { at: start, change: newAudit({ action: 'pairing.revoke' }) })
      expect(await actions()).toEqual(['pairing.revoke', 'schedule.remove', 'schedule.add', 'delivery.retry'])
    })

    it('is purged by its age', async () => {
      const { store } = opened
      for (let n = 0; n < 250; n++) await store.recordAudit(entry({ at: start + n }))
      expect(await store.purgeAudit({ before: start + 240 })).toEqual({ count: 200, more: true })
      expect(await store.purgeAudit({ before: start + 240 })).toEqual({ count: 40, more: false })
      expect((await list()).map(({ at }) => at - start)).toEqual([249, 248, 247, 246, 245, 244, 243, 242, 241, 240])
      await store.purge({ before: start + 1000 })
      expect(await list()).toHaveLength(10)
    })
  })
}
