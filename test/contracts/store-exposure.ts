// The store contract: effects of tools in sessions that hold external content.
import { describe, expect, it } from 'vitest'
import type { OpenStore } from './open-store.ts'
import { runEnd, start, startRun } from './store-samples.ts'

const session = 'agent:main:one'
const said = { transcript: [{ message: { role: 'user', content: 'Hello' } }] }

export function exposureContract(opened: OpenStore): void {
  describe('an effect', () => {
    it('permanently excludes the other effect in every scope', async () => {
      const { store } = opened
      expect(await store.useEffects({ scopes: ['a', 'b'], effects: ['reads-private'] })).toBeUndefined()
      await opened.reopen()
      expect(await opened.store.useEffects({ scopes: ['b'], effects: ['sends'] })).toBe('reads-private')
      expect(await opened.store.useEffects({ scopes: ['c', 'a'], effects: ['sends'] })).toBe('reads-private')
      expect(await opened.store.useEffects({ scopes: ['c'], effects: ['sends'] })).toBeUndefined()
      expect(await opened.store.useEffects({ scopes: ['a', 'c'], effects: ['reads-private'] })).toBe('sends')
      expect(await opened.store.getExposure('a')).toEqual({ fromStart: true, readsPrivate: true, sends: false })
    })

    it('excludes the other effect also when both are concurrent', async () => {
      const { store } = opened
      const both = await Promise.all([
        store.useEffects({ scopes: [session], effects: ['reads-private'] }),
        store.useEffects({ scopes: [session], effects: ['sends'] }),
      ])
      expect(both).toEqual([undefined, 'reads-private'])
    })

    it('is recorded also when it is forced', async () => {
      const { store } = opened
      expect(
        await store.useEffects({ scopes: [session], effects: ['reads-private', 'sends'], force: true }),
      ).toBeUndefined()
      expect(await store.useEffects({ scopes: [session], effects: ['sends'] })).toBe('reads-private')
    })
  })

  describe('a session', () => {
    it('is marked when a run that exposes it ends', async () => {
      const { store } = opened
      expect(await store.getExposure(session)).toBeUndefined()
      await store.endRun(await startRun(store), runEnd({ ...said, exposes: true }))
      expect(await store.getExposure(session)).toEqual({ fromStart: true, readsPrivate: false, sends: false })
    })

    it('counts as having read private data if it has earlier messages', async () => {
      const { store } = opened
      await store.endRun(await startRun(store), runEnd(said))
      await store.endRun(await startRun(store), runEnd({ ...said, exposes: true }))
      expect(await store.getExposure(session)).toEqual({ fromStart: false, readsPrivate: true, sends: false })
    })

    it('that was created for one run is purged with its marks, as is the run', async () => {
      const { store } = opened
      const run = await startRun(store, { unnamedSession: true })
      await store.useEffects({ scopes: [session, run.id], effects: ['sends'] })
      await store.endRun(run, runEnd({ ...said, exposes: true }))
      await store.purge({ before: start + 1 })
      expect([await store.getExposure(session), await store.getExposure(run.id)]).toEqual([undefined, undefined])
    })
  })
}
