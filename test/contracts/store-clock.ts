// What waits for a time when the clock is set back.
import { describe, expect, it } from 'vitest'
import type { Store } from '../../core/store/store.ts'
import type { OpenStore } from './open-store.ts'
import {
  claim,
  claimDeliveries,
  newApproval,
  newDelivery,
  newEvent,
  newRun,
  post,
  start,
  startRun,
} from './store-samples.ts'

const hour = 3_600_000
const minute = 60_000
/** The clock as it is after it was set back by an hour. */
const now = start - hour

interface Wait {
  /** Lets something wait until a minute after `start`. */
  begin(store: Store): Promise<unknown>
  /** Returns whether it is over at a time. */
  isOver(store: Store, at: number): Promise<boolean>
}

const sessionKey = 'agent:main:one'

const waits: Record<string, Wait> = {
  'the retry of a run': {
    begin: async (store) => {
      const retry = { notBefore: start + minute, provider: 'claude', aside: false, result: {} }
      await store.releaseRun(await startRun(store), start, retry)
    },
    isOver: async (store, at) => (await claim(store, { at })).length === 1,
  },
  'the time limit of a run': {
    begin: async (store) => {
      const run = await startRun(store, { spec: { ...newRun().spec, timeoutSeconds: 60 } })
      await store.releaseRun(run, start)
    },
    isOver: async (store, at) => (await store.listOverdueRuns(at)).ids.length === 1,
  },
  'the lease of a run': {
    begin: (store) => startRun(store),
    isOver: async (store, at) => (await store.recoverExpiredRuns(at)).queued === 1,
  },
  'the retry of a delivery': {
    begin: async (store) => {
      await post(store, newDelivery({ id: 'waits' }))
      const [delivery] = await claimDeliveries(store)
      const retry = { status: 'retry', reason: 'busy', nextAt: start + minute, uncertain: false } as const
      await store.endDelivery('waits', delivery!.fencingToken, retry, start)
    },
    isOver: async (store, at) => (await claimDeliveries(store, { at })).length === 1,
  },
  'the lease of a delivery': {
    begin: async (store) => {
      await post(store, newDelivery())
      await claimDeliveries(store, { leaseMs: minute })
    },
    isOver: async (store, at) => (await store.recoverExpiredDeliveries(at)).length === 1,
  },
  'an event that a model has refused': {
    begin: async (store) => {
      await store.accept({ at: start, events: [newEvent({ sessionKey, mode: 'now' })] })
      const run = await startRun(store, { sessionKey })
      await store.claimEvents(run, sessionKey, { count: 9, characters: 999 })
      const failed = { transcript: [], events: [], deliveries: [], result: {}, eventsRendered: false }
      await store.endRun(run, { ...failed, at: start, status: 'failed', eventsRefused: true })
    },
    isOver: async (store, at) => (await store.countWaitingEvents(sessionKey, at)) === 1,
  },
  'an approval': {
    begin: (store) =>
      store.createApproval({ at: start, approvals: [newApproval({ expiresAt: start + minute })], deliveries: [] }),
    isOver: async (store, at) => (await store.listDueApprovals(at)).length === 1,
  },
  'the lease of an account': {
    begin: (store) => store.acquireLease('account', 'me', start, start + minute),
    isOver: async (store, at) => (await store.acquireLease('account', 'other', at, at + 1)) !== undefined,
  },
  'the code of a sender': {
    begin: (store) => store.setState('pairing', 'chat', { pending: [{ code: 'x', at: start }], approved: [] }),
    isOver: async (store, at) => {
      const state = (await store.getState('pairing', 'chat')) as { pending: { at: number }[] }
      return state.pending[0]!.at + minute <= at
    },
  },
}

export function clockContract(opened: OpenStore): void {
  describe('a clock that is set back by an hour', () => {
    it.each(Object.keys(waits))('leaves %s as long as it was', async (what) => {
      const { begin, isOver } = waits[what]!
      await begin(opened.store)
      expect(await opened.store.setTimesBack(now, hour)).toBe(hour)
      expect(await isOver(opened.store, now + minute - 1)).toBe(false)
      expect(await isOver(opened.store, now + minute)).toBe(true)
    })

    it('is noticed after a restart by the newest record', async () => {
      const { begin, isOver } = waits['the retry of a delivery']!
      await begin(opened.store)
      await opened.reopen()
      expect(await opened.store.setTimesBack(now)).toBe(hour)
      expect(await isOver(opened.store, now + minute)).toBe(true)
    })

    it('changes nothing when it is right, or only corrected', async () => {
      await waits['the retry of a delivery']!.begin(opened.store)
      expect(await opened.store.setTimesBack(start + 1)).toBe(0)
      expect(await opened.store.setTimesBack(start - 1000)).toBe(0)
    })
  })
}
