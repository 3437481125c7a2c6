// Group commit, over an engine whose commits end when the test says so.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type GroupOutcome, createGroupCommit } from '../../core/store/group-commit.ts'
import type { StoreCall } from '../../core/store/operations.ts'

const limits = { groupSize: 3, maxCallsForNewWork: 4, maxCalls: 6, maxCharacters: 1000, deadlineMs: 5000 }
const call = (n: number): StoreCall => ['getRun', [String(n)]]

function setUp() {
  const groups: { calls: readonly StoreCall[]; answer: (outcome: GroupOutcome) => void }[] = []
  const commits = createGroupCommit((calls) => new Promise((answer) => groups.push({ calls, answer })), { limits })
  const succeed = (calls: readonly StoreCall[]): GroupOutcome => ({
    results: calls.map(([, [id]]) => id),
    failures: new Map(),
  })
  const settle = async (outcome?: GroupOutcome) => {
    const group = groups.shift()!
    group.answer(outcome ?? succeed(group.calls))
    await vi.advanceTimersByTimeAsync(0)
  }
  return { commits, groups, settle }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const endTurn = () => vi.advanceTimersByTimeAsync(0)
const tooLate = { code: 'store_unavailable', message: 'The store did not answer in time.', retryAfter: 1 }

describe('group commit', () => {
  it('sends full groups at once, and smaller ones only while fewer than two groups are under way', async () => {
    const { commits, groups, settle } = setUp()
    const calls = [1, 2, 3, 4].map((n) => commits.call(call(n)))
    expect(groups.map((group) => group.calls.length)).toEqual([3])
    await endTurn()
    calls.push(commits.call(call(5)))
    await endTurn()
    expect(groups.map((group) => group.calls.length)).toEqual([3, 1])
    await settle()
    expect(groups.map((group) => group.calls.length)).toEqual([1, 1])
    await settle()
    await settle()
    expect(await Promise.all(calls)).toEqual(['1', '2', '3', '4', '5'])
  })

  it('rejects only the calls that failed', async () => {
    const { commits, settle } = setUp()
    const outcomes = Promise.allSettled([1, 2, 3].map((n) => commits.call(call(n))))
    await endTurn()
    const failure = { code: 'internal_error', reason: 'no' } as const
    await settle({ results: ['1', undefined, '3'], failures: new Map([[1, failure]]) })
    expect(await outcomes).toMatchObject([
      { value: '1' },
      { reason: { code: 'internal_error', message: 'The store refused an operation: no' } },
      { value: '3' },
    ])
  })

  it('rejects every call of a group that was not committed', async () => {
    const { commits, settle } = setUp()
    const outcomes = Promise.allSettled([1, 2].map((n) => commits.call(call(n))))
    await endTurn()
    await settle({ unavailable: 'disk full' })
    expect(await outcomes).toMatchObject([
      { reason: { code: 'store_unavailable' } },
      { reason: { code: 'store_unavailable', message: 'disk full' } },
    ])
  })

  it('rejects a call after its deadline, and lets calls without one wait', async () => {
    const { commits, settle } = setUp()
    const first = commits.callWithDeadline(call(1), 10).catch((error: unknown) => error)
    await endTurn()
    await vi.advanceTimersByTimeAsync(1000)
    const second = commits.callWithDeadline(call(2), 10).catch((error: unknown) => error)
    const patient = commits.call(call(3))
    await vi.advanceTimersByTimeAsync(4000)
    expect(await first).toMatchObject(tooLate)
    await vi.advanceTimersByTimeAsync(1000)
    expect(await second).toMatchObject(tooLate)
    await settle()
    await settle()
    expect(await patient).toBe('3')
  })

  it('refuses new work at the first limit and every call at the second', async () => {
    const { commits, settle } = setUp()
    const accepted = [1, 2, 3, 4].map((n) => commits.callWithDeadline(call(n), 1))
    await expect(commits.callWithDeadline(call(5), 1)).rejects.toMatchObject({
      message: 'Too many writes are waiting.',
    })
    accepted.push(commits.call(call(6)), commits.call(call(7)))
    await expect(commits.call(call(8))).rejects.toMatchObject({ code: 'store_unavailable', retryAfter: 1 })
    await endTurn()
    await settle()
    await settle()
    expect(await Promise.all(accepted)).toEqual(['1', '2', '3', '4', '6', '7'])
  })

  it('refuses new work while too many characters are waiting', async () => {
    const { commits, settle } = setUp()
    const large = commits.callWithDeadline(call(1), 1000)
    await expect(commits.callWithDeadline(call(2), 1)).rejects.toMatchObject({ code: 'store_unavailable' })
    await endTurn()
    await settle()
    expect(await large).toBe('1')
    const next = commits.callWithDeadline(call(3), 1)
    await endTurn()
    await settle()
    expect(await next).toBe('3')
  })

  it('commits what is waiting when it closes, and refuses further calls', async () => {
    const { commits, settle } = setUp()
    const last = commits.call(call(1))
    const closed = commits.close()
    await expect(commits.call(call(2))).rejects.toMatchObject({ message: 'The store is closed.' })
    await endTurn()
    await settle()
    expect(await last).toBe('1')
    await closed
  })
})
