// Change events: every committed change is published, and nothing is read again without subscribers.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createChangeEvents } from '../../core/store/commits/change-events.ts'
import { openStore } from '../../core/store/open.ts'
import type { Store } from '../../core/store/store.ts'
import {
  cancelledEnd,
  claim,
  claimDelivery,
  newRequest,
  newEvent,
  newKey,
  newDelivery,
  newRun,
  runEnd,
  start,
} from '../contracts/store-samples.ts'
import { silent, url } from './acknowledging.ts'

async function openWithEvents() {
  const dir = await mkdtemp(join(tmpdir(), 'store-'))
  const { store, opened, commits } = openStore({ url, dir, log: silent })
  await opened
  onTestFinished(async () => {
    await store.close()
    await rm(dir, { recursive: true })
  })
  let reads = 0
  const counting: Store = {
    ...store,
    getRun: (id) => ((reads += 1), store.getRun(id)),
    getDelivery: (id) => ((reads += 1), store.getDelivery(id)),
  }
  const changes = createChangeEvents({ commits, store: counting })
  const published: [kind: string, id: string, ...rest: unknown[]][] = []
  const subscribe = () => {
    changes.requests.subscribe(({ id, status, result }) => published.push(['request', id, status, result]))
    changes.events.subscribe(({ id, at }) => published.push(['event', id, at]))
    changes.runs.subscribe(({ run, deliveries }) => published.push(['run', run.id, run.status, deliveries.length]))
    changes.outbox.subscribe(({ id, status, reason }) => published.push(['delivery', id, status, reason]))
  }
  return { store, published, subscribe, reads: () => reads }
}

it('publishes what was accepted, but not a replayed request', async () => {
  const { store, published, subscribe } = await openWithEvents()
  subscribe()
  const [run, event, request, delivery] = [newRun(), newEvent(), newRequest(), newDelivery()]
  const command = { at: start, idempotency: newKey(), runs: [run], events: [event], request, deliveries: [delivery] }
  await store.accept(command)
  await store.accept(command)
  await store.recordRefusal(
    { ...newRequest({ id: 'refused' }), status: 'rejected', error: { type: 'invalid_json', message: 'No.' } },
    start,
  )
  expect(published).toEqual([
    ['request', request.id, 'accepted', { runIds: [run.id], eventIds: [event.id] }],
    ['event', event.id, start],
    ['run', run.id, 'queued', 0],
    ['delivery', delivery.id, 'pending', null],
    ['request', 'refused', 'rejected', { error: { type: 'invalid_json', message: 'No.' } }],
  ])
})

it('publishes each change of a run and of its deliveries', async () => {
  const { store, published, subscribe } = await openWithEvents()
  subscribe()
  const [run, waiting] = [newRun(), newRun()]
  await store.accept({ at: start, runs: [run, waiting] })
  const [first] = await claim(store)
  await store.releaseRun(first!, start)
  await expect.poll(() => published.at(-1)).toEqual(['run', run.id, 'queued', 0])
  const [again] = await claim(store)
  expect(await store.endRun(first!, runEnd())).toBe(false)
  const delivery = newDelivery({ runId: run.id })
  await store.endRun(again!, runEnd({ events: [newEvent({ id: 'summary' })], deliveries: [delivery] }))
  await store.endQueuedRun(waiting.id, cancelledEnd())
  const { id, fencingToken } = await claimDelivery(store)
  await store.endDelivery(id, fencingToken, { status: 'failed', reason: 'Nobody is there.' }, start)
  await expect.poll(() => published.at(-1)).toEqual(['delivery', id, 'failed', 'Nobody is there.'])
  await store.retryDelivery(id, start)
  await expect.poll(() => published.at(-1)).toEqual(['delivery', id, 'pending', null])
  await claimDelivery(store)
  const late = { chunk: 0, reason: 'Sent back.', event: newEvent({ id: 'late' }) }
  expect(await Promise.all([1, 2].map(() => store.failDelivery(id, late, start)))).toEqual([true, false])
  await expect.poll(() => published.filter(([, id]) => id === 'late')).toEqual([['event', 'late', start]])
  expect(published.filter(([, id]) => id === run.id)).toEqual([
    ['run', run.id, 'queued', 0],
    ['run', run.id, 'running', 0],
    ['run', run.id, 'queued', 0],
    ['run', run.id, 'running', 0],
    ['run', run.id, 'succeeded', 1],
  ])
  expect(published).toContainEqual(['run', waiting.id, 'cancelled', 0])
  expect(published).toContainEqual(['event', 'summary', start])
  expect(published.filter(([kind]) => kind === 'delivery')).toEqual([
    ['delivery', id, 'pending', null],
    ['delivery', id, 'failed', 'Nobody is there.'],
    ['delivery', id, 'pending', null],
    ['delivery', id, 'failed', 'Sent back.'],
  ])
})

it('reads nothing without subscribers', async () => {
  const { store, reads } = await openWithEvents()
  await store.accept({ at: start, runs: [newRun()] })
  const [run] = await claim(store)
  await store.endRun(run!, runEnd({ deliveries: [newDelivery()] }))
  const { id, fencingToken } = await claimDelivery(store)
  await store.endDelivery(id, fencingToken, { status: 'sent', platformId: null }, start)
  expect(reads()).toBe(0)
})
