// The store contract: sessions, their events and routes, and the state of extensions.
import { describe, expect, it } from 'vitest'
import type { SessionPosition, Store } from '../../core/store/store.ts'
import type { OpenStore } from './open-store.ts'
import {
  cancelledEnd,
  claim,
  newDelivery,
  newRequest,
  newEvent,
  newRun,
  runEnd,
  start,
  startRun,
  startRuns,
} from './store-samples.ts'

const session = 'agent:main:one'
const all = { count: 100, characters: 1_000_000 }
const texts = (events: readonly { text: string }[]) => events.map(({ text }) => text)

async function keysOf(
  store: Store,
  filter: Omit<Parameters<Store['listSessions']>[0], 'defaultAgentId'>,
): Promise<string[]> {
  return (await store.listSessions({ ...filter, defaultAgentId: 'main' })).items.map(({ key }) => key)
}

const tell = (store: Store, ...news: string[]) =>
  store.accept({ at: start, events: news.map((text) => newEvent({ text })) })

export function sessionsContract(opened: OpenStore): void {
  describe('events', () => {
    it('are claimed by a run in order, the same ones again by its next attempt', async () => {
      const { store } = opened
      await tell(store, 'one', 'two')
      const run = await startRun(store)
      expect(texts(await store.claimEvents(run, session, all))).toEqual(['one', 'two'])
      await tell(store, 'three')
      expect(texts(await store.claimEvents(run, session, all))).toEqual(['one', 'two'])
      expect(texts(await store.listWaitingEvents(session, { count: 9, characters: 1e9 }))).toEqual(['three'])
      await store.recoverExpiredRuns(start + 60_000)
      const [again] = await startRuns(store)
      expect(texts(await store.claimEvents(again!, session, all))).toEqual(['one', 'two'])
    })

    it('have the text of their request if it is stored only there', async () => {
      const { store } = opened
      const request = newRequest({ body: '\uFEFF{"mode":"now","text":" one \\u2028"}' })
      await store.accept({
        at: start,
        request,
        events: [newEvent({ text: 'one', inBody: true }), newEvent({ text: 'two' })],
      })
      await opened.reopen()
      expect(texts(await opened.store.listWaitingEvents(session, { count: 9, characters: 1e9 }))).toEqual([
        'one',
        'two',
      ])
    })

    it('leave the queue after the run has rendered them', async () => {
      const { store } = opened
      await tell(store, 'one')
      const run = await startRun(store)
      await store.claimEvents(run, session, all)
      await store.endRun(run, runEnd({ eventsRendered: true }))
      expect(await store.countWaitingEvents(session)).toBe(0)
      expect(await store.claimEvents(await startRun(store), session, all)).toEqual([])
    })

    it('wait again in their old place if it has not', async () => {
      const { store } = opened
      await tell(store, 'one')
      const run = await startRun(store)
      await store.claimEvents(run, session, all)
      await tell(store, 'two')
      await store.endRun(run, runEnd({ status: 'failed', eventsRendered: false }))
      expect(texts(await store.listWaitingEvents(session, { count: 9, characters: 1e9 }))).toEqual(['one', 'two'])
    })

    it('are claimed in bounded batches, at least one at a time', async () => {
      const { store } = opened
      await tell(store, 'a'.repeat(50), 'bbb', 'cc', 'd')
      const take = async (limit: typeof all) => {
        const run = await startRun(store)
        const taken = texts(await store.claimEvents(run, session, limit))
        await store.endRun(run, runEnd())
        return taken
      }
      expect(await take({ count: 9, characters: 10 })).toEqual(['a'.repeat(50)])
      expect(await take({ count: 9, characters: 5 })).toEqual(['bbb', 'cc'])
      expect(await take({ count: 1, characters: 5 })).toEqual(['d'])
    })

    it('are never dropped for their number', async () => {
      const { store } = opened
      await Promise.all(
        Array.from({ length: 1500 }, (_, n) => store.accept({ at: start, events: [newEvent({ text: String(n) })] })),
      )
      await opened.reopen()
      expect(texts(await opened.store.listWaitingEvents(session, { count: 5000, characters: 1e9 }))).toEqual(
        Array.from({ length: 1500 }, (_, n) => String(n)),
      )
      expect(await opened.store.countWaitingEvents(session)).toBe(1500)
    })

    it('are claimed only in their own session', async () => {
      const { store } = opened
      await store.accept({ at: start, events: [newEvent({ sessionKey: 'other', mode: 'now' })] })
      expect(await store.claimEvents(await startRun(store), session, all)).toEqual([])
      expect(await store.listSessionsWithWakes(start)).toEqual(['other'])
    })

    it('request a wake until a run has claimed them', async () => {
      const { store } = opened
      await store.accept({ at: start, events: [newEvent(), newEvent({ mode: 'now' }), newEvent({ mode: 'now' })] })
      expect(await store.listSessionsWithWakes(start)).toEqual([session])
      await store.claimEvents(await startRun(store), session, all)
      expect(await store.listSessionsWithWakes(start)).toEqual([])
    })
  })

  describe('wakes of an agent', () => {
    it('are found by session until a run has claimed them', async () => {
      const { store } = opened
      const named = newEvent({ agentId: 'ops', mode: 'now' })
      await store.accept({
        at: start,
        events: [newEvent({ mode: 'now' }), named, newEvent({ agentId: 'ops', sessionKey: 'other' })],
      })
      const wakes = await store.listWaitingWakes(start)
      expect(wakes.toSorted((a, b) => a.sessionKey.localeCompare(b.sessionKey))).toEqual([
        { agentId: 'ops', sessionKey: session, mode: 'now' },
        { agentId: 'ops', sessionKey: 'other', mode: 'next-heartbeat' },
      ])
      await store.claimEvents(await startRun(store), session, all)
      expect(await store.listWaitingWakes(start)).toEqual([
        { agentId: 'ops', sessionKey: 'other', mode: 'next-heartbeat' },
      ])
    })
  })

  describe('sessions', () => {
    it('are listed newest first, also for one agent', async () => {
      const { store } = opened
      for (const [n, agentId] of ['main', 'ops', 'main'].entries()) {
        await store.accept({ at: start + n, runs: [newRun({ agentId, sessionKey: `agent:${agentId}:${n}` })] })
      }
      expect(await keysOf(store, { limit: 10 })).toEqual(['agent:main:2', 'agent:ops:1', 'agent:main:0'])
      expect(await keysOf(store, { limit: 1 })).toEqual(['agent:main:2'])
      expect(await keysOf(store, { agentId: 'ops', limit: 10 })).toEqual(['agent:ops:1'])
      expect(await store.getSession('agent:ops:1')).toEqual({
        key: 'agent:ops:1',
        agentId: 'ops',
        updatedAt: start + 1,
      })
      expect(await store.getSession('nothing')).toBeUndefined()
    })

    it('that were created for one run are found through the queued run, and begin with it', async () => {
      const { store } = opened
      const known = async (key: string) => [
        (await store.getSession(key))?.updatedAt,
        (await keysOf(store, { limit: 10 })).includes(key),
      ]
      await store.accept({
        at: start,
        runs: ['begun', 'cancelled'].map((id) => newRun({ id, sessionKey: id, unnamedSession: true })),
      })
      expect(await known('begun')).toEqual([start, true])
      await store.endQueuedRun('cancelled', cancelledEnd())
      expect(await known('cancelled')).toEqual([undefined, false])
      await claim(store, { at: start + 7 })
      expect(await known('begun')).toEqual([start + 7, true])
      expect(await keysOf(store, { limit: 10 })).toEqual(['begun'])
    })

    it('with waiting events only are listed by the newest event', async () => {
      const { store } = opened
      await store.accept({
        at: start,
        events: [newEvent({ sessionKey: 'agent:ops:main' }), newEvent({ sessionKey: 'global' })],
      })
      await store.accept({ at: start + 1, runs: [newRun()], events: [newEvent()] })
      await store.accept({ at: start + 2, events: [newEvent({ sessionKey: 'global' })] })
      const listed = await store.listSessions({ limit: 10, defaultAgentId: 'main' })
      expect(listed).toEqual({
        items: [
          { key: 'global', agentId: 'main', updatedAt: start + 2 },
          { key: session, agentId: 'main', updatedAt: start + 1 },
          { key: 'agent:ops:main', agentId: 'ops', updatedAt: start },
        ],
      })
      expect(await keysOf(store, { agentId: 'ops', limit: 10 })).toEqual(['agent:ops:main'])
      expect(await keysOf(store, { agentId: 'main', limit: 10 })).toEqual(['global', session])
    })

    it('are returned page by page, each once, whatever they contain', async () => {
      const { store } = opened
      for (let n = 0; n < 12; n++) {
        const key = `agent:main:${n}`
        if (n % 3 === 0) await store.accept({ at: start + n, runs: [newRun({ sessionKey: key })] })
        if (n % 3 === 1)
          await store.accept({ at: start + n, runs: [newRun({ sessionKey: key, unnamedSession: true })] })
        if (n % 3 === 2) await store.accept({ at: start + n, events: [newEvent({ sessionKey: key })] })
      }
      const listed: string[] = []
      let pages = 0
      for (let after: SessionPosition | undefined, more = true; more; pages++) {
        const { items, next } = await store.listSessions({ after, limit: 5, defaultAgentId: 'main' })
        listed.push(...items.map(({ key }) => key))
        after = next
        more = next !== undefined
      }
      expect(listed).toEqual(Array.from({ length: 12 }, (_, n) => `agent:main:${11 - n}`))
      expect(pages).toBe(3)
    })

    it('count waiting events, runs and messages', async () => {
      const { store } = opened
      await tell(store, 'one', 'two')
      await store.endRun(await startRun(store), runEnd({ transcript: [{ message: 'a' }] }))
      await startRuns(store, newRun(), newRun(), newRun())
      expect(await store.getSessionCounts(session)).toEqual({
        events: 2,
        queued: 2,
        running: 1,
        waiting: 0,
        transcript: 1,
      })
      expect(await store.getSessionCounts('nothing')).toEqual({
        events: 0,
        queued: 0,
        running: 0,
        waiting: 0,
        transcript: 0,
      })
    })

    it('return their transcript page by page, newest first', async () => {
      const { store } = opened
      await store.endRun(await startRun(store), runEnd({ transcript: ['a', 'b', 'c'].map((message) => ({ message })) }))
      await store.endRun(await startRun(store), runEnd({ transcript: [{ message: 'd' }] }))
      await store.endRun(await startRun(store, { sessionKey: 'other' }), runEnd({ transcript: [{ message: 'x' }] }))
      const { items, next } = await store.listTranscript(session, { limit: 3 })
      expect(items.map(({ message }) => message)).toEqual(['d', 'c', 'b'])
      expect(await store.listTranscript(session, { limit: 3, before: next })).toMatchObject({
        items: [{ message: 'a' }],
      })
    })
  })

  describe('routes', () => {
    const route = { channel: 'pager', accountId: 'default', to: '1', threadId: null, route: null }
    const sender = { channel: 'radio', accountId: 'default', from: { id: 'ann' }, to: '2', isTrusted: true }

    it('are stored per channel; the newest is the last route', async () => {
      const { store } = opened
      await store.accept({ at: start, route: { ...route, sessionKey: session, agentId: 'main' } })
      await store.accept({
        at: start + 1,
        route: {
          ...route,
          sessionKey: session,
          agentId: 'main',
          channel: 'radio',
          to: '2',
          threadId: 't',
          route: { url: 'x' },
          sender,
        },
      })
      expect(await store.listRoutes(session)).toEqual([
        { channel: 'radio', accountId: 'default', to: '2', threadId: 't', route: { url: 'x' }, at: start + 1, sender },
        { ...route, channel: 'pager', to: '1', at: start },
      ])
      await store.accept({ at: start + 2, route: { ...route, sessionKey: session, agentId: 'main', to: '3' } })
      expect(await store.listRoutes(session)).toMatchObject([{ channel: 'pager', to: '3' }, { channel: 'radio' }])
      expect(await store.listRoutes('other')).toEqual([])
    })

    it('are not replaced by an older message', async () => {
      const { store } = opened
      await store.accept({ at: start + 1, route: { ...route, sessionKey: session, agentId: 'main', to: 'new' } })
      await store.accept({ at: start, route: { ...route, sessionKey: session, agentId: 'main', to: 'old' } })
      expect(await store.listRoutes(session)).toMatchObject([{ to: 'new' }])
    })
  })

  describe('state', () => {
    it('belongs to an extension and is durable', async () => {
      await opened.store.setState('pager', 'cursor', { at: [1, 'two', null] })
      await opened.store.setState('pager', 'cursor', { at: [2] })
      await opened.store.setState('radio', 'cursor', 'other')
      await opened.reopen()
      expect(await opened.store.getState('pager', 'cursor')).toEqual({ at: [2] })
      await opened.store.deleteState('pager', 'cursor')
      expect(await opened.store.getState('pager', 'cursor')).toBeUndefined()
      expect(await opened.store.getState('radio', 'cursor')).toBe('other')
    })
  })

  describe('a lease', () => {
    it('has one owner until it expires, and a fencing token that grows with each new owner', async () => {
      const { store } = opened
      expect(await store.acquireLease('beat', 'a', start, start + 10)).toEqual({ fencingToken: 1 })
      expect(await store.acquireLease('beat', 'a', start + 5, start + 15)).toEqual({ fencingToken: 1 })
      expect(await store.acquireLease('beat', 'b', start + 14, start + 99)).toBeUndefined()
      expect(await store.acquireLease('beat', 'b', start + 15, start + 30)).toEqual({ fencingToken: 2 })
      expect(await store.acquireLease('beat', 'a', start + 16, start + 99)).toBeUndefined()
    })

    it('that is released is free at once, and only its owner can release it', async () => {
      const { store } = opened
      await store.acquireLease('beat', 'a', start, start + 10)
      await store.releaseLease('beat', 'b')
      expect(await store.acquireLease('beat', 'b', start, start + 10)).toBeUndefined()
      await store.releaseLease('beat', 'a')
      expect(await store.acquireLease('beat', 'b', start, start + 10)).toEqual({ fencingToken: 2 })
    })

    it('of a process that is gone is free at once', async () => {
      await opened.store.acquireLease('beat', 'a', start, start + 10)
      await opened.store.expireLeases()
      expect(await opened.store.acquireLease('beat', 'b', start, start + 10)).toEqual({ fencingToken: 2 })
    })
  })

  describe('deleteSession', () => {
    const remove = (store: Store, key: string) => store.deleteSession(key, { at: start })
    const lines = async (store: Store, key: string) => (await store.listTranscript(key, { limit: 9 })).items.length
    const said = (changes: Parameters<typeof runEnd>[0] = {}) => runEnd({ transcript: [{ message: 'Hi' }], ...changes })

    it('deletes its runs, transcript, events, route and marks, and those of no other session', async () => {
      const { store } = opened
      const route = { channel: 'pager', accountId: 'default', to: '1', threadId: null, route: {} }
      const ids: string[] = []
      for (const sessionKey of ['gone', 'kept']) {
        await store.accept({
          at: start,
          route: { ...route, sessionKey, agentId: 'main' },
          events: [newEvent({ sessionKey })],
        })
        const run = await startRun(store, { sessionKey })
        await store.useEffects({ scopes: [run.id], effects: ['sends'] })
        await store.endRun(run, said())
        ids.push(run.id)
      }
      expect(await remove(store, 'gone')).toBe('deleted')
      const read = async (key: string, id: string) => ({
        session: (await store.getSession(key)) !== undefined,
        run: (await store.getRun(id)) !== undefined,
        transcript: await lines(store, key),
        events: await store.countWaitingEvents(key),
        route: (await store.listRoutes(key)).length > 0,
        mark: (await store.getExposure(id)) !== undefined,
      })
      const none = { session: false, run: false, transcript: 0, events: 0, route: false, mark: false }
      expect(await read('gone', ids[0]!)).toEqual(none)
      expect(await read('kept', ids[1]!)).toEqual({
        session: true,
        run: true,
        transcript: 1,
        events: 1,
        route: true,
        mark: true,
      })
    })

    it('deletes nothing while a run is queued or running, or a reply is not sent', async () => {
      const { store } = opened
      await store.accept({ at: start, runs: [newRun({ sessionKey: 'queued' })] })
      await startRun(store, { sessionKey: 'running' })
      const run = await startRun(store, { sessionKey: 'unsent' })
      await store.endRun(run, said({ deliveries: [newDelivery({ runId: run.id })] }))
      for (const key of ['queued', 'running', 'unsent']) expect(await remove(store, key)).toBe('busy')
      expect(await lines(store, 'unsent')).toBe(1)
      expect(await store.getRun(run.id)).toBeDefined()
    })
  })

  it('answers a probe', async () => {
    await expect(opened.store.probe()).resolves.toBeUndefined()
  })

  it('accepts nothing after it is closed', async () => {
    const { store } = opened
    await opened.reopen()
    await expect(store.accept({ at: start })).rejects.toMatchObject({ code: 'store_unavailable', retryAfter: 1 })
  })
}
