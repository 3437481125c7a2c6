// The store contract: purging deletes what has ended, the oldest first, and keeps what is pending or still needed.
import { describe, expect, it } from 'vitest'
import type { PurgeResult, NewRun, Store } from '../../core/store/store.ts'
import type { OpenStore } from './open-store.ts'
import {
  claimDelivery,
  claimDeliveries,
  newRequest,
  newEvent,
  newKey,
  newDelivery,
  newRun,
  runEnd,
  start,
  startRun,
} from './store-samples.ts'

const [session, later] = ['agent:main:one', start + 1000]
const nothing = { requests: 0, runs: 0, deliveries: 0, events: 0, sessions: 0 }
const all = { count: 100, characters: 1_000_000 }
const everything = { limit: 10_000 }

/** Purges in steps until nothing older is left. @returns the result of each step */
async function forgetAll(store: Store, before: number): Promise<PurgeResult['counts'][]> {
  const steps: PurgeResult['counts'][] = []
  for (let step = await store.purge({ before }); ; step = await store.purge({ before, from: step.next })) {
    steps.push(step.counts)
    if (!step.next) return steps
  }
}

const sum = (steps: readonly PurgeResult['counts'][]): PurgeResult['counts'] => {
  const total = { ...nothing }
  for (const step of steps) for (const kind of Object.keys(total) as (keyof typeof total)[]) total[kind] += step[kind]
  return total
}

const purgeBefore = async (store: Store, before: number) => sum(await forgetAll(store, before))

/** A run that has ended. */
async function finish(store: Store, changes: Partial<NewRun> = {}, end: Parameters<typeof runEnd>[0] = {}) {
  const run = await startRun(store, changes)
  await store.endRun(run, runEnd(end))
  return run
}

export function forgetContract(opened: OpenStore): void {
  describe('purge', () => {
    it('deletes requests, runs, deliveries and events that ended before a time, and nothing newer', async () => {
      const { store } = opened
      const [old, young] = [newRequest(), newRequest()]
      await store.accept({ at: start, request: old, events: [newEvent()] })
      await store.recordRefusal({ ...newRequest(), status: 'rejected' }, start)
      const heartbeat = await startRun(store)
      await store.claimEvents(heartbeat, session, all)
      await store.endRun(
        heartbeat,
        runEnd({
          deliveries: [
            newDelivery({ id: 'said', runId: heartbeat.id }),
            newDelivery({ id: 'skipped', status: 'skipped' }),
          ],
        }),
      )
      const delivery = await claimDelivery(store)
      await store.endDelivery(delivery.id, delivery.fencingToken, { status: 'sent', platformId: null }, start)
      await store.accept({ at: later, request: young })
      expect(await purgeBefore(store, start)).toEqual(nothing)
      expect(await purgeBefore(store, later)).toEqual({ requests: 2, runs: 1, deliveries: 2, events: 1, sessions: 0 })
      await opened.reopen()
      expect(await opened.store.getRequest(old.id)).toBeUndefined()
      expect(await opened.store.getRun(heartbeat.id)).toBeUndefined()
      expect(await opened.store.getDelivery('said')).toBeUndefined()
      expect((await opened.store.listRequests({}, everything)).items).toMatchObject([{ id: young.id }])
    })

    it('uses the end of a run, a delivery and an event', async () => {
      const { store } = opened
      await store.accept({ at: start, events: [newEvent()] })
      const run = await startRun(store)
      await store.claimEvents(run, session, all)
      await store.endRun(run, runEnd({ at: later, deliveries: [newDelivery()] }))
      const [delivery] = await claimDeliveries(store, { at: later })
      await store.endDelivery(delivery!.id, delivery!.fencingToken, { status: 'failed', reason: 'gone' }, later)
      expect(await purgeBefore(store, later)).toEqual(nothing)
      expect(await purgeBefore(store, later + 1)).toMatchObject({ runs: 1, deliveries: 1, events: 1 })
    })

    it('keeps queued and running runs, and runs with pending deliveries', async () => {
      const { store } = opened
      const running = await startRun(store)
      const waiting = newRun()
      await store.accept({ at: start, runs: [waiting] })
      const said = await finish(store, { sessionKey: 'agent:main:other' }, { deliveries: [newDelivery({ id: 'due' })] })
      const saying = await finish(
        store,
        { id: 'saying', sessionKey: 'agent:main:third' },
        { deliveries: [newDelivery({ id: 'saying:0', runId: 'saying' })] },
      )
      expect(await purgeBefore(store, later)).toEqual({ ...nothing, runs: 1 })
      expect(await store.getRun(said.id)).toBeUndefined()
      for (const { id } of [running, waiting, saying]) expect(await store.getRun(id)).toBeDefined()
      const [first] = await claimDeliveries(store)
      expect(await purgeBefore(store, later)).toEqual(nothing)
      expect(first?.id).toBe('due')
      await store.endDelivery('due', first!.fencingToken, { status: 'sent', platformId: null }, start)
      const last = await claimDelivery(store)
      await store.endDelivery(last.id, last.fencingToken, { status: 'unknown', reason: 'lost' }, start)
      expect(await purgeBefore(store, later)).toEqual({ ...nothing, runs: 1, deliveries: 2 })
    })

    it('keeps waiting and claimed events, and the request with their text', async () => {
      const { store } = opened
      const wake = newRequest({ body: '{"text":"the roof leaks"}' })
      await store.accept({
        at: start,
        request: wake,
        events: [newEvent({ text: 'the roof leaks', inBody: true }), newEvent({ text: 'more', inBody: true })],
      })
      expect(await purgeBefore(store, later)).toEqual(nothing)
      const failing = await startRun(store)
      expect(await store.claimEvents(failing, session, all)).toMatchObject([
        { text: 'the roof leaks' },
        { text: 'more' },
      ])
      expect(await purgeBefore(store, later)).toEqual(nothing)
      await store.endRun(failing, runEnd({ status: 'failed', eventsRendered: false }))
      expect(await purgeBefore(store, later)).toEqual({ ...nothing, runs: 1 })
      expect(await store.listWaitingEvents(session, { count: 9, characters: 1e9 })).toMatchObject([
        { text: 'the roof leaks' },
        { text: 'more' },
      ])
      const run = await startRun(store)
      expect(await store.claimEvents(run, session, all)).toMatchObject([{ text: 'the roof leaks' }, { text: 'more' }])
      await store.endRun(run, runEnd())
      expect(await purgeBefore(store, later)).toEqual({ ...nothing, requests: 1, runs: 1, events: 2 })
    })

    it('keeps the reply of an idempotency key', async () => {
      const { store } = opened
      await store.accept({ at: start, request: newRequest(), idempotency: newKey() })
      expect(await purgeBefore(store, later)).toEqual({ ...nothing, requests: 1 })
      expect(await store.accept({ at: later, idempotency: newKey() })).toEqual({
        outcome: 'replayed',
        reply: '{"ok":true}',
      })
    })

    it('deletes unnamed sessions with their transcripts, and keeps all others', async () => {
      const { store } = opened
      const talk = { transcript: [{ message: 'hello' }, { message: 'again' }] }
      const keys = ['made-up', 'named', 'named-later']
      for (const sessionKey of keys) await finish(store, { sessionKey, unnamedSession: sessionKey !== 'named' }, talk)
      await finish(store, { sessionKey: 'named-later' })
      await finish(store, { sessionKey: 'named-later', unnamedSession: true })
      expect(await purgeBefore(store, later)).toMatchObject({ sessions: 1, runs: 5 })
      expect(await store.getSession('made-up')).toBeUndefined()
      expect(
        await Promise.all(keys.map(async (key) => (await store.listTranscript(key, { limit: 9 })).items.length)),
      ).toEqual([0, 2, 2])
    })

    it('keeps an unnamed session while work is pending in it', async () => {
      const { store } = opened
      const made = { unnamedSession: true }
      await startRun(store, { ...made, sessionKey: 'running' })
      await finish(store, { ...made, sessionKey: 'news' })
      await store.accept({ at: start, events: [newEvent({ sessionKey: 'news' })] })
      await finish(store, { ...made, sessionKey: 'touched' }, { at: later })
      expect(await purgeBefore(store, later)).toEqual({ ...nothing, runs: 1 })
      for (const key of ['running', 'news', 'touched']) expect(await store.getSession(key)).toBeDefined()
    })

    it('runs in bounded steps, the oldest of all kinds first', async () => {
      const { store } = opened
      const times = Array.from({ length: 900 }, (_, n) => start + n)
      await Promise.all(
        times.map((at) =>
          store.accept({
            at,
            request: newRequest(),
            deliveries: at % 3 === 0 ? [newDelivery({ status: 'skipped' })] : [],
          }),
        ),
      )
      const first = await store.purge({ before: later })
      expect(first.counts.requests).toBeLessThan(500)
      const { items: requests } = await store.listRequests({}, everything)
      const { items: deliveries } = await store.listDeliveries({}, everything)
      expect(Math.abs(requests.at(-1)!.at - deliveries.at(-1)!.createdAt)).toBeLessThan(3)
      const rest = await forgetAll(store, start + 800)
      expect(rest.length).toBeGreaterThan(1)
      expect(first.counts.requests + sum(rest).requests).toBe(800)
      expect((await store.listRequests({}, everything)).items).toHaveLength(100)
    })

    it('deletes fewer rows per step when bodies are long', async () => {
      const { store } = opened
      const body = 'x'.repeat(500_000)
      await Promise.all(Array.from({ length: 20 }, () => store.accept({ at: start, request: newRequest({ body }) })))
      const steps = await forgetAll(store, start + 1)
      expect(steps.length).toBeGreaterThan(3)
      expect(sum(steps).requests).toBe(20)
    })
  })

  describe('purgeBodies', () => {
    const bodiesOf = async (store: Store, ids: readonly string[]) =>
      await Promise.all(ids.map(async (id) => (await store.getRequest(id))?.body))

    it('deletes the bodies of old requests and keeps the requests', async () => {
      const { store } = opened
      for (const id of ['old', 'young'])
        await store.accept({ at: id === 'old' ? start : later, request: newRequest({ id }) })
      expect(await store.purgeBodies({ before: start })).toMatchObject({ count: 0, more: false })
      expect(await store.purgeBodies({ before: later })).toMatchObject({ count: 1, more: false })
      await opened.reopen()
      expect(await bodiesOf(opened.store, ['old', 'young'])).toEqual([null, '{}'])
      expect(await opened.store.getRequest('old')).toMatchObject({
        status: 'accepted',
        headers: { 'content-type': 'application/json' },
      })
    })

    it('keeps a body with the text of an event until a turn has rendered it', async () => {
      const { store } = opened
      const body = '{"text":"the roof leaks"}'
      await store.accept({
        at: start,
        request: newRequest({ id: 'wake', body }),
        events: [newEvent({ text: 'the roof leaks', inBody: true })],
      })
      expect(await store.purgeBodies({ before: later })).toMatchObject({ count: 0, complete: false })
      const run = await startRun(store)
      expect(await store.claimEvents(run, session, all)).toMatchObject([{ text: 'the roof leaks' }])
      expect(await store.purgeBodies({ before: later })).toMatchObject({ count: 0, complete: false })
      await store.endRun(run, runEnd())
      expect(await store.purgeBodies({ before: later })).toMatchObject({ count: 1, complete: true })
    })

    it('runs in bounded steps, each from where the last one ended', async () => {
      const { store } = opened
      const body = 'x'.repeat(500_000)
      await Promise.all(Array.from({ length: 20 }, () => store.accept({ at: start, request: newRequest({ body }) })))
      let [steps, total, from] = [0, 0, 0]
      for (let more = true; more; steps++) {
        const step = await store.purgeBodies({ before: later, from })
        total += step.count
        ;({ last: from, more } = step)
      }
      expect(total).toBe(20)
      expect(steps).toBeGreaterThan(3)
      expect(await store.purgeBodies({ before: later, from })).toEqual({
        count: 0,
        last: from,
        more: false,
        complete: true,
      })
    })
  })
}
