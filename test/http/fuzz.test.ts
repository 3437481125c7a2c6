// Runs the fuzz loop briefly. The long form is in test/long.
import { describe, expect, it } from 'vitest'
import { startApp } from './app.ts'
import { chooseSeed } from '../config/random.ts'
import { createRandom, fuzzBodies, fuzzRequests } from './fuzzing.ts'

describe('mutated', () => {
  it('bodies get 200 or 400', async () => {
    const app = await startApp()
    await fuzzBodies(app, createRandom(chooseSeed()), 3_000)
    expect(app.lines.join('\n')).not.toMatch(/"status":5/)
  })

  it('requests get 2xx, 4xx or no response', async () => {
    const app = await startApp()
    await fuzzRequests(app, createRandom(chooseSeed()), 600)
    expect(app.lines.join('\n')).not.toMatch(/"status":5/)
  })
})
