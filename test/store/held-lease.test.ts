// A lease that a gateway holds: it counts as lost before another gateway can acquire it.
import { expect, it, onTestFinished, vi } from 'vitest'
import { createSharedLeases } from '../../core/store/held-lease.ts'
import type { Store } from '../../core/store/store.ts'
import { silent } from './acknowledging.ts'

it('counts as lost two seconds before it expires, and as held again once it is renewed', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const changes: string[] = []
  let isReachable = true
  const granted: number[] = []
  const acquireLease = async (...[, , at, until]: Parameters<Store['acquireLease']>) => {
    if (!isReachable) throw new Error('away')
    granted.push(until - at)
    return { fencingToken: 1 }
  }
  const store = { acquireLease, releaseLease: async () => undefined }
  const lease = createSharedLeases({ store, owner: 'me', log: silent })('work', {
    onAcquired: () => void changes.push('acquired'),
    onLost: () => void changes.push('lost'),
  })
  lease.start()
  await vi.advanceTimersByTimeAsync(0)
  isReachable = false
  const [length = 0] = granted
  await vi.advanceTimersByTimeAsync(length - 2_001)
  expect([lease.isHeld(), changes]).toEqual([true, ['acquired']])
  await vi.advanceTimersByTimeAsync(2)
  expect([lease.isHeld(), changes]).toEqual([false, ['acquired', 'lost']])
  isReachable = true
  await vi.advanceTimersByTimeAsync(4_000)
  expect([lease.isHeld(), changes]).toEqual([true, ['acquired', 'lost', 'acquired']])
  await lease.close()
})
