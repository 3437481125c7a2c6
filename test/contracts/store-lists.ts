// The store contract: lists are filtered, paged and newest first; and the log of requests.
import { describe, expect, it } from 'vitest'
import type { Page, PageRequest } from '../../core/store/store.ts'
import {
  cancelledEnd,
  claim,
  claimDelivery,
  claimDeliveries,
  newRequest,
  newEvent,
  newDelivery,
  newRun,
  newSchedule,
  post,
  runEnd,
  start,
  startRun,
} from './store-samples.ts'
import type { OpenStore } from './open-store.ts'

/** Reads all pages. */
async function pages<Row>(list: (page: PageRequest) => Promise<Page<Row>>, limit = 2): Promise<Row[][]> {
  const all: Row[][] = []
  for (let before: number | undefined; ;) {
    const { items, next } = await list({ before, limit })
    all.push(items)
    if (next === undefined) return all
    before = next
  }
}

export function listsContract(opened: OpenStore): void {
  const everything = { limit: 100 }

  describe('the log of requests', () => {
    it('stores accepted requests with their runs and events', async () => {
      const { store } = opened
      const request = newRequest({
        body: '{"text":"Hi"}',
        query: '{"box":["in","all"]}',
        replayOf: 'earlier',
        authentication: { scheme: 'github', secret: 1 },
      })
      await store.accept({ at: start, request, runs: [newRun({ id: 'r1' })], events: [newEvent({ id: 'e1' })] })
      await opened.reopen()
      expect(await opened.store.getRequest(request.id)).toMatchObject({
        id: request.id,
        at: start,
        status: 'accepted',
        headers: { 'content-type': 'application/json' },
        query: { box: ['in', 'all'] },
        body: '{"text":"Hi"}',
        result: {
          runIds: ['r1'],
          eventIds: ['e1'],
          replayOf: 'earlier',
          authentication: { scheme: 'github', secret: 1 },
        },
      })
    })

    it('stores refused requests with the reason, also without a body', async () => {
      const { store } = opened
      const error = { type: 'payload_too_large', message: 'The body is too large.' }
      const refusal = { ...newRequest({ body: null }), status: 'rejected', error } as const
      await store.recordRefusal(refusal, start)
      expect(await store.getRequest(refusal.id)).toMatchObject({
        status: 'rejected',
        query: {},
        body: null,
        result: { error },
      })
      const question = {
        ...newRequest(),
        status: 'skipped',
        reason: 'handshake',
        authentication: { scheme: 'meta' },
      } as const
      await store.recordRefusal(question, start)
      expect((await store.getRequest(question.id))?.result).toEqual({
        reason: 'handshake',
        authentication: { scheme: 'meta' },
      })
      expect(await store.getRequest('nobody')).toBeUndefined()
    })

    it('is listed newest first, page by page, without bodies', async () => {
      const { store } = opened
      for (const id of ['a', 'b', 'c', 'd', 'e']) await store.accept({ at: start, request: newRequest({ id }) })
      const listed = await pages((page) => store.listRequests({}, page))
      expect(listed.flat().map(({ id }) => id)).toEqual(['e', 'd', 'c', 'b', 'a'])
      expect(listed[0]).toHaveLength(2)
      expect(listed[0]![0]).not.toHaveProperty('body')
    })

    it('is filtered by hook, status, time and text of the body', async () => {
      const { store } = opened
      await store.accept({ at: start, request: newRequest({ id: 'old', hook: 'wake', body: '100% of the DISK_1' }) })
      await store.accept({
        at: start + 10,
        request: newRequest({ id: 'new', hook: 'agent', body: '100 of the disk21' }),
      })
      await store.recordRefusal({ ...newRequest({ id: 'bad', hook: 'wake' }), status: 'rejected' }, start + 20)
      const found = async (filter: Parameters<typeof store.listRequests>[0]) =>
        (await store.listRequests(filter, everything)).items.map(({ id }) => id)
      expect(await found({ hook: 'wake' })).toEqual(['bad', 'old'])
      expect(await found({ status: 'rejected' })).toEqual(['bad'])
      expect(await found({ status: 'accepted' })).toEqual(['new', 'old'])
      expect(await found({ since: start + 10 })).toEqual(['bad', 'new'])
      expect(await found({ text: 'disk' })).toEqual(['new', 'old'])
      expect(await found({ text: '100% of the disk_1' })).toEqual(['old'])
      expect(await found({ hook: 'wake', status: 'accepted', text: 'nothing' })).toEqual([])
    })

    it('searches a bounded number of bodies and returns a cursor', async () => {
      const { store } = opened
      await store.accept({ at: start, request: newRequest({ id: 'needle', body: 'needle' }) })
      await Promise.all(Array.from({ length: 250 }, () => store.accept({ at: start, request: newRequest() })))
      const listed = await pages((page) => store.listRequests({ text: 'needle' }, page))
      expect(listed.map((items) => items.map(({ id }) => id))).toEqual([[], ['needle']])
      expect(await store.listRequests({ text: 'needle', since: start + 1 }, everything)).toEqual({ items: [] })
    })
  })

  describe('lists', () => {
    it('filter runs by status, kind, agent and session', async () => {
      const { store } = opened
      const ended = await startRun(store, { id: 'ended', sessionKey: 'agent:main:ended' })
      await store.endRun(ended, runEnd({ status: 'failed', result: { error: { type: 'x', message: 'y' } } }))
      await startRun(store, { id: 'running', sessionKey: 'agent:main:running' })
      await store.accept({ at: start, runs: [newRun({ id: 'queued', agentId: 'ops', kind: 'channel' })] })
      const found = async (filter: Parameters<typeof store.listRuns>[0]) =>
        (await store.listRuns(filter, everything)).items.map(({ id }) => id)
      expect(await found({})).toEqual(['queued', 'running', 'ended'])
      for (const status of ['queued', 'running'] as const) expect(await found({ status })).toEqual([status])
      expect(await found({ status: 'failed' })).toEqual(['ended'])
      expect(await found({ status: 'succeeded' })).toEqual([])
      expect(await found({ kind: 'channel' })).toEqual(['queued'])
      expect(await found({ agentId: 'ops', status: 'queued' })).toEqual(['queued'])
      expect(await found({ sessionKey: 'agent:main:ended' })).toEqual(['ended'])
      expect((await pages((page) => store.listRuns({}, page))).map((items) => items.length)).toEqual([2, 1])
    })

    it('return the runs of a session in order, whatever their status', async () => {
      const { store } = opened
      const ids = ['first', 'second', 'third', 'fourth', 'fifth']
      for (const id of ids) await store.accept({ at: start, runs: [newRun({ id, sessionKey: 'one' })] })
      const [first] = await claim(store)
      await store.endRun(first!, runEnd())
      await claim(store)
      await store.endQueuedRun('fourth', cancelledEnd())
      const listed = await pages((page) => store.listRuns({ sessionKey: 'one' }, page))
      expect(listed.flat().map(({ id }) => id)).toEqual(ids.toReversed())
      expect(listed.map((items) => items.length)).toEqual([2, 2, 1])
    })

    it('return long rows in short pages, each once', async () => {
      const { store } = opened
      const long = 'x'.repeat(300_000)
      const ids = Array.from({ length: 20 }, (_, n) => `run-${n}`)
      for (const id of ids) {
        await store.accept({ at: start, request: newRequest({ id, body: long }) })
        const run = await startRun(store, { id, sessionKey: 'one' })
        await store.endRun(
          run,
          runEnd({
            result: { reply: long },
            transcript: [{ message: long }],
            deliveries: [newDelivery({ id, text: long })],
          }),
        )
      }
      const lists = {
        runs: (page: PageRequest) => store.listRuns({}, page),
        deliveries: (page: PageRequest) => store.listDeliveries({ status: 'pending' }, page),
        transcript: (page: PageRequest) => store.listTranscript('one', page),
      }
      for (const list of Object.values(lists)) {
        const listed = await pages<{ id?: string; runId?: string }>(list, 100)
        expect(Math.max(...listed.map((items) => items.length))).toBeLessThanOrEqual(8)
        expect(listed.flat().map(({ id, runId }) => id ?? runId)).toEqual(ids.toReversed())
      }
      const searched = await pages((page) => store.listRequests({ text: 'nothing' }, page), 100)
      expect(searched.length).toBeGreaterThan(2)
    })

    it('do not contain the message of a run', async () => {
      const { store } = opened
      await store.accept({ at: start, runs: [newRun()] })
      expect((await store.listRuns({}, everything)).items[0]?.spec).not.toHaveProperty('message')
    })

    it('filter deliveries by status and channel', async () => {
      const { store } = opened
      await post(
        store,
        newDelivery({ id: 'sent' }),
        newDelivery({ id: 'other', channel: 'chat' }),
        newDelivery({ id: 'failed', status: 'failed', reason: 'no' }),
      )
      for (const { id, fencingToken } of await claimDeliveries(store))
        if (id === 'sent') await store.endDelivery(id, fencingToken, { status: 'sent', platformId: null }, start)
      const found = async (filter: Parameters<typeof store.listDeliveries>[0]) =>
        (await store.listDeliveries(filter, everything)).items.map(({ id }) => id)
      expect(await found({})).toEqual(['failed', 'other', 'sent'])
      expect(await found({ status: 'failed' })).toEqual(['failed'])
      expect(await found({ status: 'sent' })).toEqual(['sent'])
      expect(await found({ channel: 'chat' })).toEqual(['other'])
    })

    it('return sessions page by page, also with equal times', async () => {
      const { store } = opened
      for (const key of ['a', 'b', 'c']) await store.accept({ at: start, runs: [newRun({ sessionKey: key })] })
      const list = (filter: object = {}) => store.listSessions({ limit: 2, defaultAgentId: 'main', ...filter })
      const { items, next } = await list()
      expect(items.map(({ key }) => key)).toEqual(['c', 'b'])
      expect(await list({ after: next })).toMatchObject({ items: [{ key: 'a' }] })
      expect(await list({ agentId: 'main', after: next })).toMatchObject({ items: [{ key: 'a' }] })
      expect(await list({ agentId: 'ops' })).toEqual({ items: [] })
    })

    it('count queued and running work', async () => {
      const { store } = opened
      await post(store, newDelivery(), newDelivery(), newDelivery({ status: 'failed', reason: 'no' }))
      await claimDelivery(store)
      await store.accept({ at: start, runs: [newRun()] })
      expect((await store.getLiveCounts()).schedules).toEqual({ count: 0, nextAt: null })
      await store.addSchedule(newSchedule(), { at: start, most: 9 })
      expect(await store.getLiveCounts()).toEqual({
        runs: { queued: 1, running: 0, waiting: 0 },
        approvals: 0,
        deliveries: { pending: 1, sending: 1, failed: 1, unknown: 0 },
        schedules: { count: 1, nextAt: start },
      })
    })
  })

  describe('a delivery that is retried', () => {
    it('continues where it stopped', async () => {
      const { store } = opened
      await post(store, newDelivery({ id: 'm' }))
      const { id, fencingToken } = await claimDelivery(store)
      await store.advanceDelivery(id, fencingToken, { chunksSent: 1, platformId: null })
      await store.endDelivery(id, fencingToken, { status: 'unknown', reason: 'lost' }, start)
      expect(await store.retryDelivery(id, start)).toBe(true)
      expect(await claimDelivery(store)).toMatchObject({
        id,
        chunksSent: 1,
        attempt: 1,
        uncertain: false,
        reason: null,
      })
    })

    it('waits while a later one to the same recipient is being sent', async () => {
      const { store } = opened
      await post(store, newDelivery({ id: 'first' }), newDelivery({ id: 'second' }))
      const first = await claimDelivery(store)
      await store.endDelivery(first.id, first.fencingToken, { status: 'failed', reason: 'no' }, start)
      const second = await claimDelivery(store)
      expect(second.id).toBe('second')
      expect(await store.retryDelivery('first', start)).toBe(true)
      expect(await claimDeliveries(store)).toEqual([])
      expect(await store.getNextDeliveryAt()).toBeUndefined()
      await store.endDelivery(second.id, second.fencingToken, { status: 'sent', platformId: null }, start)
      expect((await claimDelivery(store)).id).toBe('first')
    })

    it('must be failed or unknown', async () => {
      const { store } = opened
      await post(store, newDelivery({ id: 'm' }))
      expect(await store.retryDelivery('m', start)).toBe(false)
      expect(await store.retryDelivery('nobody', start)).toBe(false)
      expect(await store.getDelivery('m')).toMatchObject({ status: 'pending' })
    })
  })
}
