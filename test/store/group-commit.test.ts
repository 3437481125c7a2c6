// Group commit by itself, over a commit that the test lets go when it likes.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Outcome, createGroupCommit } from '../../core/store/group-commit.ts'
import type { Call } from '../../core/store/operations/operations.ts'

const limits = { group: 3, hasty: 4, calls: 6, characters: 1000, deadlineMs: 5000 }
const call = (n: number): Call => ['getRun', [String(n)]]

function setUp() {
  const groups: { calls: readonly Call[]; answer: (outcome: Outcome) => void }[] = []
  const commits = createGroupCommit((calls) => new Promise((answer) => groups.push({ calls, answer })), limits)
  const whole = (calls: readonly Call[]): Outcome => ({ results: calls.map(([, [id]]) => id), failures: [] })
  const settle = async (outcome?: Outcome) => {
    const group = groups.shift()!
    group.answer(outcome ?? whole(group.calls))
    await vi.advanceTimersByTimeAsync(0)
  }
  return { commits, groups, settle }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const soon = () => vi.advanceTimersByTimeAsync(0)
const late = { code: 'store_unavailable', message: 'The store did not answer in time.', retryAfter: 1 }

describe('group commit', () => {
  it('sends a full group at once, and what there is at the end of the turn, but no part of a group behind two others', async () => {
    const { commits, groups, settle } = setUp()
    const calls = [1, 2, 3, 4].map((n) => commits.call(call(n)))
    expect(groups.map((group) => group.calls.length)).toEqual([3])
    await soon()
    calls.push(commits.call(call(5)))
    await soon()
    expect(groups.map((group) => group.calls.length)).toEqual([3, 1])
    await settle()
    expect(groups.map((group) => group.calls.length)).toEqual([1, 1])
    await settle()
    await settle()
    expect(await Promise.all(calls)).toEqual(['1', '2', '3', '4', '5'])
  })

  it('tells only those who failed', async () => {
    const { commits, settle } = setUp()
    const outcomes = Promise.allSettled([1, 2, 3].map((n) => commits.call(call(n))))
    await soon()
    await settle({ results: ['1', undefined, '3'], failures: [[1, { code: 'internal_error', reason: 'no' }]] })
    expect(await outcomes).toMatchObject([
      { value: '1' },
      { reason: { code: 'internal_error', message: 'The store refused an operation: no' } },
      { value: '3' },
    ])
  })

  it('acknowledges nothing of what was not kept', async () => {
    const { commits, settle } = setUp()
    const outcomes = Promise.allSettled([1, 2].map((n) => commits.call(call(n))))
    await soon()
    await settle({ unavailable: 'disk full' })
    expect(await outcomes).toMatchObject([
      { reason: { code: 'store_unavailable' } },
      { reason: { code: 'store_unavailable', message: 'disk full' } },
    ])
  })

  it('gives up haste after its deadline; patience goes on', async () => {
    const { commits, settle } = setUp()
    const hasty = commits.callInHaste(call(1), 10).catch((error: unknown) => error)
    await soon()
    await vi.advanceTimersByTimeAsync(1000)
    const later = commits.callInHaste(call(2), 10).catch((error: unknown) => error)
    const patient = commits.call(call(3))
    await vi.advanceTimersByTimeAsync(4000)
    expect(await hasty).toMatchObject(late)
    await vi.advanceTimersByTimeAsync(1000)
    expect(await later).toMatchObject(late)
    await settle()
    await settle()
    expect(await patient).toBe('3')
  })

  it('bounds what waits: haste first, then everything', async () => {
    const { commits, settle } = setUp()
    const taken = [1, 2, 3, 4].map((n) => commits.callInHaste(call(n), 1))
    await expect(commits.callInHaste(call(5), 1)).rejects.toMatchObject({ message: 'Too many writes are waiting.' })
    taken.push(commits.call(call(6)), commits.call(call(7)))
    await expect(commits.call(call(8))).rejects.toMatchObject({ code: 'store_unavailable', retryAfter: 1 })
    await soon()
    await settle()
    await settle()
    expect(await Promise.all(taken)).toEqual(['1', '2', '3', '4', '6', '7'])
  })

  it('bounds the memory of what waits', async () => {
    const { commits, settle } = setUp()
    const large = commits.callInHaste(call(1), 1000)
    await expect(commits.callInHaste(call(2), 1)).rejects.toMatchObject({ code: 'store_unavailable' })
    await soon()
    await settle()
    expect(await large).toBe('1')
    const next = commits.callInHaste(call(3), 1)
    await soon()
    await settle()
    expect(await next).toBe('3')
  })

  it('finishes what waits when it closes, and takes no more', async () => {
    const { commits, settle } = setUp()
    const last = commits.call(call(1))
    const closed = commits.close()
    await expect(commits.call(call(2))).rejects.toMatchObject({ message: 'The store is closed.' })
    await soon()
    await settle()
    expect(await last).toBe('1')
    await closed
  })
})
