// The sliding window, the lockout, and the bound of both under a flood of addresses.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createThrottle } from '../../core/http/throttle.ts'

function start(options: { maxClients?: number } = {}) {
  let time = 1_000
  const throttle = createThrottle({ maxAttempts: 3, windowMs: 60_000, lockoutMs: 30_000, now: () => time, ...options })
  const fail = (key: string, times: number) => Array.from({ length: times }).forEach(() => throttle.fail(key))
  return { throttle, fail, pass: (ms: number) => void (time += ms) }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

describe('a throttle', () => {
  it('locks out with the last attempt of the window, and says for how long', () => {
    const { throttle, fail, pass } = start()
    fail('a', 2)
    expect(throttle.lockedFor('a')).toBe(0)
    fail('a', 1)
    expect(throttle.lockedFor('a')).toBe(30)
    expect(throttle.lockedFor('b')).toBe(0)
    pass(29_999)
    expect(throttle.lockedFor('a')).toBe(1)
    pass(1)
    expect(throttle.lockedFor('a')).toBe(0)
  })

  it('is not prolonged by attempts while it is locked, and starts anew after it', () => {
    const { throttle, fail, pass } = start()
    fail('a', 3)
    pass(20_000)
    fail('a', 50)
    expect(throttle.lockedFor('a')).toBe(10)
    pass(10_000)
    fail('a', 2)
    expect(throttle.lockedFor('a')).toBe(0)
    fail('a', 1)
    expect(throttle.lockedFor('a')).toBe(30)
  })

  it('slides: attempts fall out of the window one by one', () => {
    const { throttle, fail, pass } = start()
    for (let round = 0; round < 10; round++) {
      fail('a', 1)
      pass(30_001)
    }
    expect(throttle.lockedFor('a')).toBe(0)
    fail('a', 2)
    expect(throttle.lockedFor('a')).toBe(30)
  })

  it('forgets on demand', () => {
    const { throttle, fail } = start()
    fail('a', 3)
    throttle.clear('a')
    expect(throttle.lockedFor('a')).toBe(0)
    fail('a', 2)
    expect(throttle.lockedFor('a')).toBe(0)
  })

  it('remembers a lock through a flood of addresses that fail once', () => {
    const { throttle, fail } = start({ maxClients: 1_000 })
    fail('a', 3)
    for (let address = 0; address < 100_000; address++) throttle.fail(`x${address}`)
    expect(throttle.lockedFor('a')).toBe(30)
  })

  it('stays small under a million addresses', () => {
    const { throttle } = start({ maxClients: 10_000 })
    const half = () => {
      for (let address = 0; address < 500_000; address++) throttle.fail(`${Math.random()}`)
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const before = half()
    expect(half() - before).toBeLessThan(4 * 1_048_576)
  })
})
