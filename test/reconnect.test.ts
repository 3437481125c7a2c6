// What keeps connections and jobs open: when it tries again after a failure.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSupervisor } from '../core/reconnect.ts'
import { createTestContext } from './contracts/context.ts'
import { silent } from './store/acknowledging.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Counts the attempts, all of which fail with this error. */
function superviseFailing(error: Error) {
  const open = vi.fn<() => Promise<never>>().mockRejectedValue(error)
  const messages = { opened: '', failed: '', lost: '', refused: '', closed: '' }
  void createSupervisor({ fields: {}, open, redact: (text) => text, log: silent, messages }).open()
  return async (seconds: number) => {
    await vi.advanceTimersByTimeAsync(seconds * 1000)
    return open.mock.calls.length
  }
}

describe('a supervisor', () => {
  it('tries again after 1, 2 and 4 seconds', async () => {
    const attemptsAfter = superviseFailing(new Error('Nobody is there.'))
    expect(await attemptsAfter(0)).toBe(1)
    expect(await attemptsAfter(1.1)).toBe(2)
    expect(await attemptsAfter(2.1)).toBe(3)
    expect(await attemptsAfter(3)).toBe(3)
    expect(await attemptsAfter(1.1)).toBe(4)
  })

  it('waits as long as the error asks for, and at most an hour', async () => {
    const attemptsAfter = superviseFailing(Object.assign(new Error('Too many calls.'), { retryAfterMs: 120_000 }))
    expect(await attemptsAfter(119)).toBe(1)
    expect(await attemptsAfter(2)).toBe(2)
    const attemptsAfterDays = superviseFailing(Object.assign(new Error('Too many calls.'), { retryAfterMs: 1e9 }))
    expect(await attemptsAfterDays(3599)).toBe(1)
    expect(await attemptsAfterDays(2)).toBe(2)
  })

  it('resolves `open` after the first attempt, and says when what it closes fails to', async () => {
    const context = createTestContext()
    const opening = Promise.withResolvers<{ close(): Promise<void> }>()
    const supervisor = createSupervisor({
      fields: { name: 'it' },
      open: () => opening.promise,
      log: context.log,
      messages: { opened: 'it is open', failed: 'it failed', refused: 'it is refused' },
      isQuiet: true,
    })
    const first = supervisor.open()
    expect(supervisor.health().state).toBe('connecting')
    opening.resolve({ close: () => Promise.reject(new Error('stuck')) })
    await first
    expect(supervisor.health().state).toBe('connected')
    await supervisor.close()
    expect(context.logged).toMatchObject([
      { level: 'warn', fields: { name: 'it', reason: 'Error: stuck' }, message: 'an extension failed to close' },
    ])
  })
})
