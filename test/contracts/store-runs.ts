// The store contract: lanes, leases and fencing tokens of runs, and atomic ends.
import { describe, expect, it } from 'vitest'
import type { StoredRun } from '../../core/store/store.ts'
import type { OpenStore } from './open-store.ts'
import {
  cancelledEnd,
  claim,
  newEvent,
  newDelivery,
  newRun,
  runEnd,
  start,
  startRun,
  startRuns,
} from './store-samples.ts'

const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id)

export function runsContract(opened: OpenStore): void {
  describe('the lane of a session', () => {
    it('returns one run at a time, in order of acceptance, to any number of workers', async () => {
      const { store } = opened
      const runs = Array.from({ length: 140 }, (_, n) => newRun({ sessionKey: `agent:main:${n % 7}` }))
      await store.accept({ at: start, runs })
      const ended: string[] = []
      const running = new Set<string>()
      const work = async (owner: string) => {
        while (ended.length < runs.length) {
          for (const run of await claim(store, { owner, max: 3 })) {
            expect(running).not.toContain(run.sessionKey)
            running.add(run.sessionKey)
            await store.renewRun(run, start + 60_000)
            running.delete(run.sessionKey)
            ended.push(run.id)
            expect(await store.endRun(run, runEnd())).toBe(true)
          }
        }
      }
      await Promise.all(Array.from({ length: 12 }, (_, n) => work(`worker ${n}`)))
      for (const lane of [0, 1, 2, 3, 4, 5, 6]) {
        const accepted = ids(runs.filter((_, n) => n % 7 === lane))
        expect(ended.filter((id) => accepted.includes(id))).toEqual(accepted)
      }
    })

    it('returns no more runs than the limit over all owners leaves', async () => {
      const { store } = opened
      const runs = Array.from({ length: 5 }, (_, n) => newRun({ sessionKey: `agent:main:${n}` }))
      await store.accept({ at: start, runs })
      expect(await claim(store, { owner: 'me', maxRunning: 2 })).toHaveLength(2)
      expect(await claim(store, { owner: 'other', maxRunning: 2 })).toEqual([])
      expect(await claim(store, { owner: 'other', maxRunning: 4, max: 1 })).toHaveLength(1)
      expect(await claim(store, { owner: 'other', maxRunning: 4 })).toHaveLength(1)
    })

    it('does not block other sessions', async () => {
      const [long, , other] = [newRun(), newRun(), newRun({ sessionKey: 'agent:main:two' })] as const
      expect(ids(await startRuns(opened.store, long, newRun(), other))).toEqual([long.id, other.id])
    })

    it('runs no more than the concurrency limit at once, the oldest first', async () => {
      const { store } = opened
      const concurrencyLimit = { name: 'concurrencyLimit', limit: 2 }
      const gated = Array.from({ length: 4 }, (_, n) =>
        newRun({ sessionKey: `agent:main:gated-${n}`, concurrencyLimit }),
      )
      const other = newRun({ sessionKey: 'agent:main:free' })
      await store.accept({ at: start, runs: [...gated, other] })
      const [first, second, free] = await claim(store, { max: 9 })
      expect(ids([first!, second!, free!])).toEqual([gated[0]?.id, gated[1]?.id, other.id])
      expect(await claim(store, { max: 9 })).toEqual([])
      await store.releaseRun(second!, start)
      expect(ids(await claim(store, { max: 9 }))).toEqual([second!.id])
      await store.endRun(first!, runEnd())
      expect(ids(await claim(store, { max: 9 }))).toEqual([gated[2]?.id])
    })

    it('keeps the concurrency limit of a failed run that is retried', async () => {
      const { store } = opened
      const concurrencyLimit = { name: 'one-at-a-time', limit: 1 }
      const failed = await startRun(store, { concurrencyLimit })
      await store.endRun(failed, runEnd({ status: 'failed', result: {} }))
      const [first] = await startRuns(store, newRun({ sessionKey: 'agent:main:other', concurrencyLimit }))
      expect(await store.retryRun(failed.id, { id: 'once-more', at: start })).toBe(true)
      expect(await claim(store)).toEqual([])
      await store.endRun(first!, runEnd())
      expect(ids(await claim(store))).toEqual(['once-more'])
    })

    it('continues with the next run whatever the result of the one before', async () => {
      const { store } = opened
      const runs = [newRun(), newRun(), newRun(), newRun()]
      await store.accept({ at: start, runs })
      for (const [n, status] of (['failed', 'timed_out', 'cancelled'] as const).entries()) {
        const [run] = await claim(store)
        expect(run?.id).toBe(runs[n]?.id)
        await store.endRun(run!, runEnd({ status }))
        expect(await store.getRun(run!.id)).toMatchObject({ status, endedAt: start, result: { reply: 'Done' } })
      }
      expect(ids(await claim(store))).toEqual([runs[3]?.id])
    })

    it('returns no more than the limit, the oldest first', async () => {
      const runs = Array.from({ length: 5 }, (_, n) => newRun({ sessionKey: `agent:main:${n}` }))
      await opened.store.accept({ at: start, runs })
      expect(ids(await claim(opened.store, { max: 2 }))).toEqual(ids(runs.slice(0, 2)))
      expect(ids(await claim(opened.store, { max: 9 }))).toEqual(ids(runs.slice(2)))
    })

    it('keeps the place of a run that a clean stop released, and does not count its attempt', async () => {
      const { store } = opened
      const first = await startRun(store)
      await store.accept({ at: start, runs: [newRun()] })
      expect(await store.releaseRun(first, start)).toBe(true)
      const [again] = await claim(store)
      expect(again).toMatchObject({ id: first.id, attempt: 1 })
      expect(again!.fencingToken).toBeGreaterThan(first.fencingToken)
      expect(await store.releaseRun(first, start)).toBe(false)
    })
  })

  describe('a run with a time limit', () => {
    const limited = () => newRun({ spec: { ...newRun().spec, timeoutSeconds: 10 } })
    const startLimited = async (): Promise<StoredRun> => {
      await opened.store.accept({ at: start - 5000, runs: [limited()] })
      const [run] = await claim(opened.store)
      return run!
    }
    const again = async (at: number) => (await claim(opened.store, { at }))[0]

    it('has a deadline from its first attempt on, over all attempts and a restart', async () => {
      const first = await startLimited()
      expect(first.deadline).toBe(start + 10_000)
      await opened.store.releaseRun(first, start + 1000)
      await opened.reopen()
      const second = await again(start + 4000)
      expect(second?.deadline).toBe(start + 10_000)
      const failed = { notBefore: start + 60_000, provider: 'claude', aside: false, result: {} }
      await opened.store.releaseRun(second!, start + 5000, failed)
      expect(await opened.store.listOverdueRuns(start + 9999)).toEqual({ ids: [], nextAt: start + 10_000 })
      expect(await opened.store.listOverdueRuns(start + 10_000)).toEqual({ ids: [first.id], nextAt: undefined })
      const end = runEnd({ status: 'timed_out' })
      expect(await opened.store.endQueuedRun(first.id, end)).toBe(true)
      expect(await opened.store.getRun(first.id)).toMatchObject({ status: 'timed_out' })
    })

    it('loses none of it while it waits for an approval, a budget or its agent', async () => {
      const { store } = opened
      const waits: ((run: StoredRun) => Promise<unknown>)[] = [
        (run) => store.releaseRun(run, start, { notBefore: start, provider: null, aside: false, result: {} }),
        async (run) => {
          await store.postponeRun(run, { budget: 'budget[0]', until: start })
          await store.releaseWaitingRuns([{ id: run.id, limits: [] }], start)
        },
      ]
      for (const wait of waits) {
        const run = await startLimited()
        await wait(run)
        expect(await store.listOverdueRuns(start + 60_000)).toEqual({ ids: [], nextAt: undefined })
        const next = await again(start + 60_000)
        expect(next).toMatchObject({ id: run.id, deadline: start + 70_000 })
        await store.endRun(next!, runEnd())
      }
      const asked = await startLimited()
      expect(await store.suspendRun(asked, start + 4000)).toBe('waiting')
      expect(await store.endQueuedRun(asked.id, runEnd({ status: 'timed_out' }))).toBe(false)
      expect(await store.getRun(asked.id)).toMatchObject({ status: 'waiting', deadline: null })
    })

    it('gets no more of it when the clock is set back', async () => {
      const first = await startLimited()
      await opened.store.releaseRun(first, start + 1000)
      expect((await again(start - 3_600_000))?.deadline).toBe(start - 3_590_000)
    })
  })

  describe('a run that is retried', () => {
    const retry = {
      notBefore: start + 5000,
      provider: 'claude',
      aside: false,
      result: {
        error: { type: 'model_failed', message: 'away' },
        retry: { since: start, count: 1, nextAt: start + 5000, earliestAt: start + 1000 },
      },
    }

    it('is claimed at its time, with its progress, and without counting the attempt', async () => {
      const first = await startRun(opened.store)
      await opened.store.accept({ at: start, runs: [newRun()] })
      expect(await opened.store.releaseRun(first, start, retry)).toBe(true)
      await opened.reopen()
      const { store } = opened
      expect(await store.getRun(first.id)).toMatchObject({ status: 'queued', result: retry.result })
      expect(await claim(store, { at: start + 4999 })).toEqual([])
      expect(await store.getNextRetryAt(start)).toBe(start + 5000)
      expect(await store.getNextRetryAt(start + 5000)).toBeUndefined()
      expect(await claim(store, { at: start + 5000 })).toMatchObject([
        { id: first.id, attempt: 1, result: retry.result },
      ])
      expect(await store.releaseRun(first, start, retry)).toBe(false)
    })

    it('does not block its session while it waits, and then waits for the running one', async () => {
      const { store } = opened
      const first = await startRun(store)
      const [second, third] = [newRun(), newRun()]
      await store.accept({ at: start, runs: [second, third] })
      await store.releaseRun(first, start, { ...retry, aside: true })
      const [running] = await claim(store)
      expect(running).toMatchObject({ id: second.id })
      expect(await claim(store, { at: start + 5000 })).toEqual([])
      await store.endRun(running!, runEnd())
      expect(ids(await claim(store, { at: start + 5000 }))).toEqual([first.id])
    })

    it('does not count for a concurrency limit', async () => {
      const { store } = opened
      const concurrencyLimit = { name: 'concurrencyLimit', limit: 1 }
      const gated = ['a', 'b', 'c'].map((name) => newRun({ sessionKey: `agent:main:${name}`, concurrencyLimit }))
      const [first] = await startRuns(store, ...gated)
      await store.releaseRun(first!, start, retry)
      const [second] = await claim(store)
      expect(second).toMatchObject({ id: gated[1]?.id })
      expect(await claim(store, { at: start + 5000 })).toEqual([])
      await store.endRun(second!, runEnd())
      expect(ids(await claim(store, { at: start + 5000 }))).toEqual([first!.id])
    })

    it('is brought forward when its provider works again, once, and not before it may be tried', async () => {
      const { store } = opened
      const sessions = Array.from({ length: 4 }, (_, n) => newRun({ sessionKey: `agent:main:${n}` }))
      const [first, second, third, other] = await startRuns(store, ...sessions)
      for (const run of [first!, second!, third!]) await store.releaseRun(run, start, retry)
      await store.releaseRun(other!, start, { ...retry, provider: 'other' })
      expect(await store.advanceRetries('claude', [start, start + 2000])).toEqual([first!.id, second!.id])
      expect((await store.getRun(second!.id))?.result.retry).toEqual({ ...retry.result.retry, nextAt: start + 2000 })
      expect(await store.advanceRetries('claude', [start + 9000, start])).toEqual([third!.id])
      expect(await store.advanceRetries('claude', [start])).toEqual([])
      await opened.reopen()
      expect(await claim(opened.store, { at: start + 999 })).toEqual([])
      expect(ids(await claim(opened.store, { at: start + 1000 }))).toEqual([first!.id])
      expect(ids(await claim(opened.store, { at: start + 2000 }))).toEqual([second!.id])
      expect(ids(await claim(opened.store, { at: start + 5000 }))).toEqual([third!.id, other!.id])
    })

    it('is not put off when it is due or claimed already', async () => {
      const { store } = opened
      const [due, claimed] = await startRuns(
        store,
        newRun({ sessionKey: 'agent:main:a' }),
        newRun({ sessionKey: 'agent:main:b' }),
      )
      await store.releaseRun(claimed!, start, retry)
      expect(ids(await claim(store, { at: start + 5000 }))).toEqual([claimed!.id])
      await store.releaseRun(due!, start, retry)
      await claim(store, { at: start + 6000, max: 0 })
      await store.advanceRetries('claude', [start + 9000])
      expect(ids(await claim(store, { at: start + 6000 }))).toEqual([due!.id])
    })

    it('does not wait for a time that was set before the clock was set back', async () => {
      const { store } = opened
      const run = await startRun(store)
      await store.releaseRun(run, start, retry)
      expect(ids(await claim(store, { at: start - 30 * 86_400_000 }))).toEqual([run.id])
    })
  })

  describe('the lease of a run', () => {
    it('that expires returns the run to its place, and counts the attempt', async () => {
      const { store } = opened
      const [first] = await startRuns(store, newRun(), newRun())
      expect(await store.recoverExpiredRuns(start + 59_999)).toEqual({ queued: 0, exhausted: [] })
      expect(await store.recoverExpiredRuns(start + 60_000)).toEqual({ queued: 1, exhausted: [] })
      expect(await claim(store)).toMatchObject([{ id: first?.id, attempt: 2 }])
    })

    it('that is renewed is not recovered', async () => {
      const run = await startRun(opened.store)
      expect(await opened.store.renewRun(run, start + 120_000)).toBe('renewed')
      expect(await opened.store.recoverExpiredRuns(start + 60_000)).toEqual({ queued: 0, exhausted: [] })
    })

    it('gives a run without attempts left to one recovery', async () => {
      const { store } = opened
      const run = await startRun(store, { maxAttempts: 1 })
      const { queued, exhausted } = await store.recoverExpiredRuns(start + 60_000)
      expect(queued).toBe(0)
      expect(exhausted).toMatchObject([{ id: run.id, attempt: 1 }])
      expect(await store.recoverExpiredRuns(start + 60_000)).toEqual({ queued: 0, exhausted: [] })
      expect(await store.endRun(run, runEnd())).toBe(false)
      expect(await store.endRun(exhausted[0]!, runEnd({ status: 'failed' }))).toBe(true)
      expect(await store.getRun(run.id)).toMatchObject({ status: 'failed' })
    })

    it('gives it to another recovery if the first one dies', async () => {
      const { store } = opened
      const run = await startRun(store, { maxAttempts: 1 })
      await store.recoverExpiredRuns(start + 60_000)
      expect((await store.recoverExpiredRuns(start + 600_000)).exhausted).toMatchObject([{ id: run.id }])
    })

    it('ends at once for an owner that is certainly gone', async () => {
      await startRun(opened.store)
      await opened.reopen()
      await opened.store.expireLeases()
      expect(await opened.store.recoverExpiredRuns(start)).toEqual({ queued: 1, exhausted: [] })
    })
  })

  describe('a stale fencing token', () => {
    it('changes nothing, whether the run is queued, claimed by another or ended', async () => {
      const { store } = opened
      await store.accept({ at: start, events: [newEvent()] })
      const stale = await startRun(store)
      const late = runEnd({
        transcript: [{ message: 'late' }],
        events: [newEvent()],
        deliveries: [newDelivery({ runId: stale.id })],
      })
      const triesInVain = async () => {
        expect(await store.renewRun(stale, start + 999_999)).toBe('lost')
        expect(await store.releaseRun(stale, start)).toBe(false)
        expect(await store.claimEvents(stale, stale.sessionKey, { count: 9, characters: 999 })).toEqual([])
        expect(await store.endRun(stale, late)).toBe(false)
      }
      await store.recoverExpiredRuns(start + 60_000)
      await triesInVain()
      const [current] = await claim(store, { at: start + 60_000 })
      await triesInVain()
      expect(await store.endRun(current!, runEnd())).toBe(true)
      await triesInVain()
      expect(await store.listTranscript(stale.sessionKey, { limit: 10 })).toEqual({ items: [] })
      expect(await store.listRunDeliveries([stale.id])).toEqual([])
      expect(await store.countWaitingEvents(stale.sessionKey)).toBe(1)
    })
  })

  describe('endRun', () => {
    it('stores result, transcript, events and deliveries atomically', async () => {
      const run = await startRun(opened.store)
      const delivery = newDelivery({ runId: run.id, threadId: 't', route: { url: 'x' } })
      const end = runEnd({
        at: start + 5,
        transcript: [{ message: { role: 'user', content: 'a' } }, { message: 'b' }],
        events: [newEvent({ mode: 'now' })],
        deliveries: [delivery],
      })
      expect(await opened.store.endRun(run, end)).toBe(true)
      await opened.reopen()
      const { store } = opened
      expect(await store.getRun(run.id)).toMatchObject({
        status: 'succeeded',
        result: { reply: 'Done' },
        startedAt: start,
        endedAt: start + 5,
      })
      expect((await store.listTranscript(run.sessionKey, { limit: 10 })).items).toMatchObject([
        { message: 'b' },
        { message: { role: 'user', content: 'a' }, runId: run.id, at: start + 5 },
      ])
      expect(await store.listSessionsWithWakes(start)).toEqual([run.sessionKey])
      expect(await store.listRunDeliveries([run.id])).toMatchObject([
        { ...delivery, attempt: 0, chunksSent: 0, uncertain: false, platformId: null },
      ])
      expect(await store.getSession(run.sessionKey)).toEqual({
        key: run.sessionKey,
        agentId: 'main',
        updatedAt: start + 5,
      })
    })

    it('changes nothing if a part of it is refused', async () => {
      const { store } = opened
      const run = await startRun(store)
      const delivery = newDelivery({ runId: run.id })
      const end = runEnd({ transcript: [{ message: 'a' }], events: [newEvent()], deliveries: [delivery, delivery] })
      await expect(store.endRun(run, end)).rejects.toMatchObject({ code: 'internal_error' })
      expect(await store.getRun(run.id)).toMatchObject({ status: 'running' })
      expect(await store.listTranscript(run.sessionKey, { limit: 10 })).toEqual({ items: [] })
      expect(await store.countWaitingEvents(run.sessionKey)).toBe(0)
      expect(await store.listRunDeliveries([run.id])).toEqual([])
      expect(await store.endRun(run, runEnd())).toBe(true)
    })
  })

  describe('cancelRunningRun', () => {
    it('is known to the holder of the run, and to the next one, until the run has ended', async () => {
      const { store } = opened
      const run = await startRun(store)
      expect(run).not.toHaveProperty('isCancelled')
      expect(await store.cancelRunningRun(run.id, { at: start })).toBe(true)
      expect(await store.cancelRunningRun(run.id, { at: start })).toBe(true)
      expect(await store.renewRun(run, start + 60_000)).toBe('cancelled')
      await store.recoverExpiredRuns(start + 60_000)
      expect(await store.cancelRunningRun(run.id, { at: start })).toBe(false)
      const [again] = await claim(store)
      expect(again).toMatchObject({ id: run.id, isCancelled: true })
      expect(await store.endRun(again!, runEnd({ status: 'cancelled' }))).toBe(true)
      expect(await store.cancelRunningRun(run.id, { at: start })).toBe(false)
    })

    it('lets no run wait for its approvals', async () => {
      const { store } = opened
      const run = await startRun(store)
      await store.cancelRunningRun(run.id, { at: start })
      expect(await store.suspendRun(run, start)).toBe('queued')
      expect(await claim(store)).toMatchObject([{ id: run.id, isCancelled: true }])
    })

    it('changes neither a queued nor an unknown run', async () => {
      const { store } = opened
      const queued = newRun()
      await store.accept({ at: start, runs: [queued] })
      expect(await store.cancelRunningRun(queued.id, { at: start })).toBe(false)
      expect(await store.cancelRunningRun('nothing', { at: start })).toBe(false)
      expect((await claim(store))[0]).not.toHaveProperty('isCancelled')
    })
  })

  describe('countRunsStartedBy', () => {
    it('counts the unfinished runs that the tools of a session have started', async () => {
      const { store } = opened
      const startedBy = 'agent:main:starter'
      const own = [newRun({ startedBy }), newRun({ startedBy, sessionKey: 'agent:main:two' })]
      const runs = [...own, newRun({ startedBy: 'agent:main:other' }), newRun({ sessionKey: startedBy })]
      const started = await startRuns(store, ...runs)
      expect(await store.countRunsStartedBy(startedBy)).toBe(2)
      for (const run of started.filter(({ id }) => ids(own).includes(id))) await store.endRun(run, runEnd())
      expect(await store.countRunsStartedBy(startedBy)).toBe(0)
    })
  })

  describe('endQueuedRun', () => {
    it('cancels a queued run, and neither a running nor an unknown one', async () => {
      const { store } = opened
      const [running, waiting] = [newRun(), newRun()]
      await startRuns(store, running, waiting)
      expect(await store.countQueuedRuns()).toBe(1)
      expect(await store.endQueuedRun(running.id, cancelledEnd())).toBe(false)
      expect(await store.endQueuedRun('nothing', cancelledEnd())).toBe(false)
      expect(await store.endQueuedRun(waiting.id, cancelledEnd(start + 1))).toBe(true)
      expect(await store.getRun(waiting.id)).toMatchObject({ status: 'cancelled', endedAt: start + 1 })
      expect(await store.countQueuedRuns()).toBe(0)
    })

    it('releases the events that an earlier attempt had claimed', async () => {
      const { store } = opened
      const run = await startRun(store)
      await store.accept({ at: start, events: [newEvent()] })
      await store.claimEvents(run, run.sessionKey, { count: 9, characters: 999 })
      await store.releaseRun(run, start)
      await store.endQueuedRun(run.id, cancelledEnd())
      expect(await store.countWaitingEvents(run.sessionKey)).toBe(1)
    })
  })

  it('returns nothing for an unknown run', async () => {
    expect(await opened.store.getRun('nothing')).toBeUndefined()
  })
}
