// The store contract: effects of tools in runs that hold external content, and where texts came from.
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
      expect(await opened.store.getExposure('a')).toEqual({ readsPrivate: true, sends: false })
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

  describe('what the tools of a run have read', () => {
    const provenance = { outside: ['the tool web_fetch'], authors: [], isPrivate: false }

    it('is kept with its effects, and replaced by what is known later', async () => {
      const { store } = opened
      await store.useEffects({ scopes: [session], effects: ['sends'] })
      await store.recordProvenance(session, { ...provenance, outside: [] })
      await store.recordProvenance(session, provenance)
      expect(await store.getExposure(session)).toEqual({ readsPrivate: false, sends: true, provenance })
    })

    it('is purged with the run', async () => {
      const { store } = opened
      const run = await startRun(store, { unnamedSession: true })
      await store.recordProvenance(run.id, provenance)
      await store.endRun(run, runEnd(said))
      await store.purge({ before: start + 1 })
      expect(await store.getExposure(run.id)).toBeUndefined()
    })
  })

  it('a transcript keeps where its texts came from, and says of older ones that it does not know', async () => {
    const { store } = opened
    const own = { outside: ['webhook github'], authors: [], isPrivate: true }
    const turn = { own, seen: { outside: [], authors: [], isPrivate: false } }
    await store.endRun(await startRun(store), runEnd(said))
    await store.endRun(await startRun(store), runEnd({ ...said, provenance: turn }))
    const { items } = await store.listTranscript(session, { limit: 9 })
    expect(items.map(({ provenance }) => provenance)).toEqual([turn, undefined])
  })
}
