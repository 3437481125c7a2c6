// A run that waits for its retry on SQLite, in a gateway that has nothing else to do.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createRunClaims } from '../../core/runs/queue/claims.ts'
import { createQueueLimit } from '../../core/runs/queue/queue-limit.ts'
import type { Store, StoredRun } from '../../core/store/store.ts'
import { newRun } from '../contracts/store-samples.ts'
import { temporaryFolder } from '../helpers.ts'
import { silent } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'

async function open() {
  const store = await openStore({ url: 'sqlite:gateway.db', dir: temporaryFolder(), log: silent })
  let onStart: (run: StoredRun) => void = () => undefined
  const active = {
    count: () => 0,
    ids: () => [],
    start: (run: StoredRun) => onStart(run),
    stopExpired: () => undefined,
    cancel: () => false,
    renewLeases: async () => undefined,
    close: async () => undefined,
  }
  const claims = createRunClaims({
    store,
    owner: 'me',
    active,
    queue: createQueueLimit(store, () => 1000),
    maxConcurrent: () => 4,
    isShared: false,
    leaseMs: 15_000,
    retryMs: 1000,
    log: silent,
  })
  onTestFinished(async () => {
    await claims.close()
    await store.close()
  })
  const nextStart = (): Promise<StoredRun> => new Promise((resolve) => (onStart = resolve))
  return { store, claims, nextStart }
}

/** Returns a run to the queue as after a failure of its model. */
const retryIn = (store: Store, run: StoredRun, notBefore: number) =>
  store.releaseRun(run, Date.now(), { notBefore, provider: 'p', aside: false, result: {} })

it('is started although the clock reaches its time between two reads of the clock', async () => {
  const { store, claims, nextStart } = await open()
  let started = nextStart()
  await store.accept({ at: Date.now(), runs: [newRun()] })
  claims.notify()
  const run = await started
  const due = Date.now() + 100
  await retryIn(store, run, due)
  started = nextStart()
  const clock = vi.spyOn(Date, 'now')
  onTestFinished(() => clock.mockRestore())
  // A timer of Node may end up to a millisecond early: the claim reads due - 1, the next read of the clock is due.
  clock.mockReturnValueOnce(due - 1).mockReturnValueOnce(due)
  claims.notifyRetries()
  await delay(0)
  clock.mockRestore()
  expect(await Promise.race([started.then(() => 'started'), delay(3000, 'still waiting after 3 seconds')])).toBe(
    'started',
  )
})
