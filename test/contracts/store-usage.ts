// The store contract: the usage of models is counted once with each step, and outlives runs and steps.
import { describe, expect, it } from 'vitest'
import type { SessionUsageRow, Store, UsageRow } from '../../core/store/store.ts'
import { usagePeriodMs } from '../../core/store/tables/usage.ts'
import type { OpenStore } from './open-store.ts'
import { claim, newModelStep, newRun, newStep, newUsage, runEnd, start, startRun } from './store-samples.ts'

const period = start - (start % usagePeriodMs)
const all = { from: 0, until: start + 10 * usagePeriodMs, limit: 100 }

const counted = {
  steps: 1,
  unpricedSteps: 0,
  inputTokens: 100,
  outputTokens: 20,
  cachedInputTokens: 60,
  cacheWriteTokens: 10,
  reasoningTokens: 5,
  costNanoUsd: 1000,
}
const ofHook = { at: period, agentId: 'main', kind: 'hook', name: 'agent', model: 'double/m' }

const listAll = async (store: Store): Promise<[UsageRow[], SessionUsageRow[]]> => [
  await store.listUsage(all),
  await store.listSessionUsage(all),
]

export function usageContract(opened: OpenStore): void {
  describe('usage', () => {
    it('is added up by quarter-hour, agent, hook, model and session', async () => {
      const run = await startRun(opened.store)
      const later = start + usagePeriodMs
      const steps = [
        newModelStep({ number: 1 }),
        newStep({ number: 2 }),
        newModelStep({ number: 3, detail: { model: 'double/m', usage: newUsage({ inputTokens: 7 }) } }),
        newModelStep({ number: 4, detail: { model: 'double/free', usage: newUsage({ costNanoUsd: 0 }) } }),
      ]
      await opened.store.recordSteps(run, { steps, count: 4 })
      await opened.store.endRun(run, runEnd({ steps: [newModelStep({ number: 5, endedAt: later })] }))
      await opened.reopen()
      const [usage, sessions] = await listAll(opened.store)
      expect(usage).toEqual([
        { ...ofHook, ...counted, model: 'double/free', costNanoUsd: 0 },
        { ...ofHook, ...double(counted), inputTokens: 107 },
        { ...ofHook, ...counted, at: period + usagePeriodMs },
      ])
      expect(sessions.map(({ at, sessionKey, steps: calls }) => [at, sessionKey, calls])).toEqual([
        [period, 'agent:main:one', 3],
        [period + usagePeriodMs, 'agent:main:one', 1],
      ])
    })

    it('is counted once when a call is repeated, because its answer was lost', async () => {
      const { store } = opened
      const run = await startRun(store)
      const recorded = { steps: [newModelStep()], count: 1 }
      for (let times = 0; times < 3; times++) expect(await store.recordSteps(run, recorded)).toBe(true)
      const end = runEnd({ steps: [newModelStep({ number: 2 })] })
      for (let times = 0; times < 3; times++) expect(await store.endRun(run, end)).toBe(true)
      expect((await store.listUsage(all)).map(({ steps }) => steps)).toEqual([2])
    })

    it('is counted once when another call of its commit fails, so that it is rolled back and repeated', async () => {
      const { store } = opened
      const run = await startRun(store)
      const counts = store.endRun(run, runEnd({ steps: [newModelStep()] }))
      const fails = store.accept({ at: start, runs: [newRun({ id: run.id })] })
      await expect(fails).rejects.toMatchObject({ code: 'internal_error' })
      expect(await counts).toBe(true)
      await store.accept({ at: start, runs: [newRun()] })
      expect((await store.listUsage(all)).map(({ steps }) => steps)).toEqual([1])
    })

    it('is not counted with a stale fencing token, nor if the call has none', async () => {
      const { store } = opened
      const stale = await startRun(store)
      await store.recoverExpiredRuns(start + 60_000)
      await store.recordSteps(stale, { steps: [newModelStep()], count: 1 })
      const [current] = await claim(store, { at: start + 60_000 })
      await store.endRun(stale, runEnd({ steps: [newModelStep()] }))
      await store.recordSteps(current!, { steps: [newModelStep({ detail: { model: 'double/m' } })], count: 1 })
      expect(await listAll(store)).toEqual([[], []])
    })

    it('says how many calls have no known price', async () => {
      const { store } = opened
      const run = await startRun(store)
      const { costNanoUsd: _, ...unpriced } = newUsage()
      const steps = [newModelStep(), newModelStep({ number: 2, detail: { model: 'double/m', usage: unpriced } })]
      await store.recordSteps(run, { steps, count: 2 })
      expect(await store.listUsage(all)).toMatchObject([{ steps: 2, unpricedSteps: 1, costNanoUsd: 1000 }])
    })

    it('of a run that another run started belongs to the webhook that the work goes back to', async () => {
      const { store } = opened
      const { spec } = newRun()
      const origin = { kind: 'subagent', name: 'x', trusted: false, root: { kind: 'hook', name: 'deploys' } } as const
      const run = await startRun(store, newRun({ kind: 'subagent', spec: { ...spec, origin } }))
      await store.endRun(run, runEnd({ steps: [newModelStep()] }))
      expect(await store.listUsage(all)).toEqual([{ ...ofHook, ...counted, name: 'deploys' }])
    })

    it('is listed in parts', async () => {
      const { store } = opened
      const run = await startRun(store)
      const steps = ['b/1', 'a/1', 'c/1'].map((model, index) =>
        newModelStep({ number: index + 1, detail: { model, usage: newUsage() } }),
      )
      await store.recordSteps(run, { steps, count: 3 })
      const first = await store.listUsage({ ...all, limit: 2 })
      expect(first.map(({ model }) => model)).toEqual(['a/1', 'b/1'])
      const second = await store.listUsage({ ...all, limit: 2, after: first[1] })
      expect(second.map(({ model }) => model)).toEqual(['c/1'])
      expect(await store.listUsage({ ...all, from: period + 1 })).toEqual([])
      expect(await store.listUsage({ ...all, until: period })).toEqual([])
    })

    it('stays when its run is purged, and is purged by its own age', async () => {
      const { store } = opened
      const run = await startRun(store)
      await store.endRun(run, runEnd({ steps: [newModelStep()] }))
      await store.purge({ before: start + 1 })
      expect(await store.getRun(run.id)).toBeUndefined()
      const [usage, sessions] = await listAll(store)
      expect([usage, sessions]).toMatchObject([[counted], [counted]])
      expect(await store.purgeUsage({ before: period, sessionsBefore: period })).toBe(0)
      expect(await store.purgeUsage({ before: period, sessionsBefore: period + 1 })).toBe(1)
      expect(await listAll(store)).toEqual([usage, []])
      expect(await store.purgeUsage({ before: period + 1, sessionsBefore: 0 })).toBe(1)
      expect(await listAll(store)).toEqual([[], []])
    })
  })
}

const double = (sums: typeof counted): typeof counted =>
  Object.fromEntries(Object.entries(sums).map(([key, value]) => [key, 2 * value])) as typeof counted
