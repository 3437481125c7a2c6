// Tests the sliding window, the lockout, and the memory limit under a flood of addresses.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createThrottle, type ThrottleLimits } from '../../core/http/throttle.ts'

function start(options: { maxClients?: number } = {}) {
  let time = 1_000
  let limits: ThrottleLimits | undefined = { maxAttempts: 3, windowMs: 60_000, lockoutMs: 30_000 }
  const throttle = createThrottle({ limits: () => limits, now: () => time, ...options })
  const fail = (key: string, times: number) => Array.from({ length: times }).forEach(() => throttle.recordFailure(key))
  return {
    throttle,
    fail,
    pass: (ms: number) => void (time += ms),
    limit: (changed?: ThrottleLimits) => void (limits = changed),
  }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

describe('a throttle', () => {
  it('locks out at the last attempt of the window and returns the remaining seconds', () => {
    const { throttle, fail, pass } = start()
    fail('a', 2)
    expect(throttle.lockoutSeconds('a')).toBe(0)
    fail('a', 1)
    expect(throttle.lockoutSeconds('a')).toBe(30)
    expect(throttle.lockoutSeconds('b')).toBe(0)
    pass(29_999)
    expect(throttle.lockoutSeconds('a')).toBe(1)
    pass(1)
    expect(throttle.lockoutSeconds('a')).toBe(0)
  })

  it('does not extend a lockout on further attempts, and starts over after it', () => {
    const { throttle, fail, pass } = start()
    fail('a', 3)
    pass(20_000)
    fail('a', 50)
    expect(throttle.lockoutSeconds('a')).toBe(10)
    pass(10_000)
    fail('a', 2)
    expect(throttle.lockoutSeconds('a')).toBe(0)
    fail('a', 1)
    expect(throttle.lockoutSeconds('a')).toBe(30)
  })

  it('drops attempts from the window one by one', () => {
    const { throttle, fail, pass } = start()
    for (let round = 0; round < 10; round++) {
      fail('a', 1)
      pass(30_001)
    }
    expect(throttle.lockoutSeconds('a')).toBe(0)
    fail('a', 2)
    expect(throttle.lockoutSeconds('a')).toBe(30)
  })

  it('counts a failure for exactly the window', () => {
    const { throttle, fail, pass } = start()
    fail('a', 2)
    pass(59_999)
    fail('a', 1)
    expect(throttle.lockoutSeconds('a')).toBe(30)
    fail('b', 2)
    pass(60_000)
    fail('b', 2)
    expect(throttle.lockoutSeconds('b')).toBe(0)
    fail('b', 1)
    expect(throttle.lockoutSeconds('b')).toBe(30)
  })

  it('keeps lockouts when the limits change, and applies the new limits from then on', () => {
    const { throttle, fail, pass, limit } = start()
    fail('a', 3)
    fail('b', 1)
    limit({ maxAttempts: 2, windowMs: 1_000, lockoutMs: 5_000 })
    expect(throttle.lockoutSeconds('a')).toBe(30)
    fail('b', 1)
    expect(throttle.lockoutSeconds('b')).toBe(5)
    limit(undefined)
    fail('c', 100)
    limit({ maxAttempts: 1, windowMs: 1_000, lockoutMs: 5_000 })
    expect(throttle.lockoutSeconds('c')).toBe(0)
    pass(5_000)
    expect([throttle.lockoutSeconds('a'), throttle.lockoutSeconds('b')]).toEqual([25, 0])
  })

  it('clears the failures and the lockout of a client', () => {
    const { throttle, fail } = start()
    fail('a', 3)
    throttle.clear('a')
    expect(throttle.lockoutSeconds('a')).toBe(0)
    fail('a', 2)
    expect(throttle.lockoutSeconds('a')).toBe(0)
  })

  it('keeps the newest clients up to its size and drops the oldest beyond twice that', () => {
    const others = (fail: (key: string, times: number) => void, count: number) => {
      for (let address = 0; address < count; address++) fail(`x${address}`, 1)
    }
    const one = start({ maxClients: 10 })
    one.fail('a', 2)
    others(one.fail, 10)
    one.fail('a', 1)
    expect(one.throttle.lockoutSeconds('a')).toBe(30)
    const two = start({ maxClients: 10 })
    two.fail('a', 2)
    others(two.fail, 20)
    two.fail('a', 1)
    expect(two.throttle.lockoutSeconds('a')).toBe(0)
  })

  it('keeps tracking a client that failed before', () => {
    const { throttle, fail } = start({ maxClients: 1 })
    fail('a', 1)
    fail('a', 2)
    expect(throttle.lockoutSeconds('a')).toBe(30)
    throttle.clear('a')
    expect(throttle.lockoutSeconds('a')).toBe(0)
  })

  it('keeps a lockout through a flood of addresses that fail once', () => {
    const { throttle, fail } = start({ maxClients: 1_000 })
    fail('a', 3)
    for (let address = 0; address < 100_000; address++) throttle.recordFailure(`x${address}`)
    expect(throttle.lockoutSeconds('a')).toBe(30)
  })

  it('stays small with a million addresses', () => {
    const { throttle } = start({ maxClients: 10_000 })
    const half = () => {
      for (let address = 0; address < 500_000; address++) throttle.recordFailure(`${Math.random()}`)
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const before = half()
    expect(half() - before).toBeLessThan(4 * 1_048_576)
  })
})
