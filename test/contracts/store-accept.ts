// The store contract: accepting work is atomic, and happens once per key.
import { describe, expect, it } from 'vitest'
import type { OpenStore } from './open-store.ts'
import { claim, newRequest, newEvent, newKey, newRun, runEnd, start } from './store-samples.ts'

const minute = 60_000

export function acceptContract(opened: OpenStore): void {
  describe('accept', () => {
    it('stores a run and an event, also after closing and opening again', async () => {
      const run = newRun()
      await opened.store.accept({
        at: start,
        request: newRequest(),
        events: [newEvent({ text: 'news ✓', trusted: true })],
        runs: [run],
      })
      await opened.reopen()
      expect(await opened.store.getRun(run.id)).toMatchObject({
        ...run,
        status: 'queued',
        attempt: 0,
        result: {},
        createdAt: start,
        startedAt: null,
        endedAt: null,
      })
      expect(await opened.store.listWaitingEvents(run.sessionKey, { count: 10, characters: 1e9 })).toMatchObject([
        { text: 'news ✓', trusted: true, source: 'webhook wake', at: start },
      ])
    })

    it('accepts as many runs as a limit has room for, and replies to a repeated command beyond it', async () => {
      const { store } = opened
      const limits = [{ scope: 'all', from: 0, to: start + minute, runs: 3, added: 1 }]
      const command = (key: string) => ({ at: start, limits, idempotency: newKey({ key }), runs: [newRun()] })
      for (const key of ['a', 'b', 'c']) expect(await store.accept(command(key))).toEqual({ outcome: 'accepted' })
      expect(await store.accept(command('d'))).toEqual({ outcome: 'over_limit' })
      expect(await store.accept(command('a'))).toMatchObject({ outcome: 'replayed' })
      expect(await store.accept({ ...command('d'), limits: undefined })).toEqual({ outcome: 'accepted' })
    })

    it('stores nothing of a command with a refused part, and all other commands of the batch', async () => {
      const { store } = opened
      const taken = newRun()
      await store.accept({ at: start, runs: [taken] })
      const good = Array.from({ length: 20 }, (_, n) => ({
        at: start,
        runs: [newRun({ sessionKey: `agent:main:${n}` })],
        events: [newEvent({ sessionKey: 'good' })],
      }))
      const bad = {
        at: start,
        idempotency: newKey(),
        request: newRequest(),
        events: [newEvent({ sessionKey: 'bad' })],
        runs: [newRun({ id: taken.id })],
      }
      const outcomes = await Promise.allSettled(
        [...good.slice(0, 10), bad, ...good.slice(10)].map((command) => store.accept(command)),
      )
      expect(outcomes.map(({ status }) => status)).toEqual(
        outcomes.map((_, index) => (index === 10 ? 'rejected' : 'fulfilled')),
      )
      expect(outcomes[10]).toMatchObject({ reason: { code: 'internal_error' } })
      expect(await store.countWaitingEvents('bad')).toBe(0)
      expect(await store.countWaitingEvents('good')).toBe(20)
      expect(await store.accept({ ...bad, runs: [newRun()] })).toEqual({ outcome: 'accepted' })
    })

    it('stores nothing of a command whose parts cannot be written together', async () => {
      const { store } = opened
      const request = newRequest()
      await store.accept({ at: start, request })
      const runs = [newRun({ sessionKey: 'agent:main:refused' })]
      const circular: unknown[] = []
      circular.push(circular)
      const unwritable = { owner: 'pager', key: 'cursor', value: circular as never }
      const refused = [
        { at: start, request, runs },
        { at: start, request: newRequest(), runs, state: unwritable },
      ]
      for (const command of refused) {
        const [good, bad] = await Promise.allSettled([
          store.accept({ at: start, runs: [newRun()] }),
          store.accept(command),
        ])
        expect(good).toMatchObject({ status: 'fulfilled' })
        expect(bad).toMatchObject({ reason: { code: 'internal_error' } })
      }
      expect(await store.countQueuedRuns()).toBe(refused.length)
      expect(await store.getSession('agent:main:refused')).toBeUndefined()
    })

    it('keeps the route of the later one of two commands for one session', async () => {
      const { store } = opened
      const route = { sessionKey: 'agent:main:one', agentId: 'main', channel: 'pager', accountId: 'default' }
      const accept = (to: string) => store.accept({ at: start, route: { ...route, to, threadId: null, route: null } })
      await Promise.all(['1', '2', '3'].map(accept))
      expect(await store.listRoutes(route.sessionKey)).toMatchObject([{ to: '3' }])
    })

    it('stores state together with the rest, or not at all', async () => {
      const { store } = opened
      const state = { owner: 'pager', key: 'cursor', value: { at: [1] } }
      const idempotency = newKey()
      await store.accept({ at: start, idempotency, state })
      await store.accept({ at: start, idempotency, state: { ...state, value: 2 } })
      expect(await store.getState('pager', 'cursor')).toEqual({ at: [1] })
    })

    it('stores the id of the first request with a second one', async () => {
      const request = newRequest()
      await opened.store.accept({ at: start, request })
      await opened.reopen()
      await expect(opened.store.accept({ at: start, request })).rejects.toMatchObject({ code: 'internal_error' })
    })
  })

  describe('an idempotency key', () => {
    it('accepts one of a hundred concurrent commands and returns its reply for the others', async () => {
      const { store } = opened
      const commands = Array.from({ length: 100 }, (_, n) => ({
        at: start,
        idempotency: newKey({ reply: `reply ${n}` }),
        runs: [newRun()],
      }))
      const results = await Promise.all(commands.map((command) => store.accept(command)))
      const first = results.findIndex(({ outcome }) => outcome === 'accepted')
      expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
      expect(results.filter((_, n) => n !== first)).toEqual(
        Array.from({ length: 99 }, () => ({ outcome: 'replayed', reply: `reply ${first}` })),
      )
      expect(await store.countQueuedRuns()).toBe(1)
    })

    it('survives closing and opening', async () => {
      await opened.store.accept({ at: start, idempotency: newKey() })
      await opened.reopen()
      expect(await opened.store.accept({ at: start, idempotency: newKey({ reply: 'other' }) })).toEqual({
        outcome: 'replayed',
        reply: '{"ok":true}',
      })
    })

    it('conflicts with another body', async () => {
      await opened.store.accept({ at: start, idempotency: newKey() })
      expect(
        await opened.store.accept({ at: start, idempotency: newKey({ bodyHash: 'another' }), runs: [newRun()] }),
      ).toEqual({ outcome: 'conflict' })
      expect(await opened.store.countQueuedRuns()).toBe(0)
    })

    it('is taken over by another body if only the latest one counts', async () => {
      const { store } = opened
      const accept = async (bodyHash: string, more: object = {}) =>
        await store.accept({ at: start, idempotency: newKey({ bodyHash, latestOnly: true, reply: bodyHash, ...more }) })
      expect(await accept('a')).toEqual({ outcome: 'accepted' })
      expect(await accept('a')).toEqual({ outcome: 'replayed', reply: 'a' })
      expect(await accept('b')).toEqual({ outcome: 'accepted' })
      expect(await accept('b')).toEqual({ outcome: 'replayed', reply: 'b' })
      expect(await accept('a')).toEqual({ outcome: 'accepted' })
      const together = await Promise.all(['b', 'b', 'a', 'a'].map((bodyHash) => accept(bodyHash)))
      expect(together.map(({ outcome }) => outcome)).toEqual(['accepted', 'replayed', 'accepted', 'replayed'])
      const fresh = await Promise.all(['a', 'a', 'b', 'a'].map((bodyHash) => accept(bodyHash, { key: 'another' })))
      expect(fresh.map(({ outcome }) => outcome)).toEqual(['accepted', 'replayed', 'accepted', 'accepted'])
    })

    it('is released by a failed run, unless its request has also stored an event', async () => {
      const { store } = opened
      const isKnownAfterFailure = async (key: string, eventIds?: string[]) => {
        const run = newRun({ sessionKey: `agent:main:${key}` })
        const reply = JSON.stringify({ ok: true, runIds: [run.id], ...(eventIds && { eventIds }) })
        const idempotency = newKey({ key, reply })
        await store.accept({ at: start, idempotency, runs: [run] })
        const [claimed] = await claim(store)
        await store.endRun(claimed!, runEnd({ status: 'failed', result: {}, eventsRendered: false }))
        return await store.hasKey(idempotency, start)
      }
      expect(await isKnownAfterFailure('run')).toBe(false)
      expect(await isKnownAfterFailure('both', ['event'])).toBe(true)
    })

    it('applies only to its scope', async () => {
      await opened.store.accept({ at: start, idempotency: newKey() })
      expect(
        await opened.store.accept({ at: start, idempotency: newKey({ scope: 'wake', bodyHash: 'another' }) }),
      ).toEqual({ outcome: 'accepted' })
    })

    it('is known from its command until it expires', async () => {
      const { store } = opened
      const key = newKey({ expiresAt: start + minute })
      expect(await store.hasKey(key, start)).toBe(false)
      await store.accept({ at: start, idempotency: key })
      expect(await store.hasKey(key, start)).toBe(true)
      expect(await store.hasKey({ ...key, scope: 'other' }, start)).toBe(false)
      expect(await store.hasKey(key, start + minute)).toBe(false)
    })

    it('can be used again after it expires, purged or not', async () => {
      const { store } = opened
      await store.accept({ at: start, idempotency: newKey({ expiresAt: start + minute }) })
      expect(await store.accept({ at: start + minute - 1, idempotency: newKey() })).toMatchObject({
        outcome: 'replayed',
      })
      expect(await store.accept({ at: start + minute, idempotency: newKey({ bodyHash: 'another' }) })).toEqual({
        outcome: 'accepted',
      })
      expect(await store.accept({ at: start + minute, idempotency: newKey() })).toEqual({ outcome: 'conflict' })
    })
  })

  describe('purgeExpiredKeys', () => {
    it('deletes all expired keys and nothing else', async () => {
      const { store } = opened
      const keys = Array.from({ length: 1500 }, (_, n) =>
        newKey({ key: `k${n}`, expiresAt: start + (n < 1200 ? minute : 2 * minute) }),
      )
      await Promise.all(keys.map((idempotency) => store.accept({ at: start, idempotency })))
      expect(await store.purgeExpiredKeys(start + minute)).toBe(1200)
      expect(await store.purgeExpiredKeys(start + minute)).toBe(0)
      expect(await store.accept({ at: start, idempotency: keys[1300] })).toMatchObject({ outcome: 'replayed' })
      expect(await store.accept({ at: start, idempotency: keys[1] })).toMatchObject({ outcome: 'accepted' })
    })
  })
}
