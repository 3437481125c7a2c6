// Tests a million mutated bodies and a hundred thousand mutated requests, also for memory leaks.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { startApp } from '../http/app.ts'
import { chooseSeed } from '../config/random.ts'
import { createRandom, fuzzBodies, fuzzRequests } from '../http/fuzzing.ts'

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}

describe('mutated', () => {
  it('bodies (one million) get 200 or 400 and leak no memory', { timeout: 1_800_000 }, async () => {
    const app = await startApp()
    const random = createRandom(chooseSeed())
    const round = async (times: number) => {
      await fuzzBodies(app, random, times)
      expect(app.lines.join('\n')).not.toMatch(/"status":5/)
      app.lines.length = app.reached.length = 0
    }
    await round(100_000)
    const before = heapAfterCollection()
    for (let count = 0; count < 9; count++) await round(100_000)
    expect(heapAfterCollection()).toBeLessThan(before * 1.1)
  })

  it('requests (a hundred thousand) get 2xx, 4xx or no response', { timeout: 1_800_000 }, async () => {
    const app = await startApp()
    await fuzzRequests(app, createRandom(chooseSeed()), 100_000)
    expect(app.lines.join('\n')).not.toMatch(/"status":5/)
  })
})
