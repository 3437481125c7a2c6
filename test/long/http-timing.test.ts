// Whether the time of a refusal tells how much of a token was right: interleaved samples, Welch's t-test.
import { describe, expect, it } from 'vitest'
import { createMatcher } from '../../core/http/auth.ts'
import { chooseSeed, createRandom } from '../http/fuzzing.ts'

const expected = 'timing-token-0123456789-abcdefghijklmnop'
const wrong = {
  'in its first byte': `X${expected.slice(1)}`,
  'in its last byte': `${expected.slice(0, -1)}X`,
  'in its length': expected.slice(0, -1),
}

function welch(a: number[], b: number[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const spread = (values: number[], middle: number) => values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1)
  const [meanA, meanB] = [mean(a), mean(b)]
  return (meanA - meanB) / Math.sqrt(spread(a, meanA) / a.length + spread(b, meanB) / b.length)
}

/** Without the slowest tenth: collections and interrupts, not the comparison. */
const quick = (values: number[]) => values.toSorted((a, b) => a - b).slice(0, values.length * 0.9)

describe('the time to refuse a token', () => {
  it('does not tell where the token is wrong', { timeout: 300_000 }, () => {
    const matches = createMatcher(expected)
    const random = createRandom(chooseSeed())
    const samples = Object.values(wrong).map((token) => ({ token, times: [] as number[] }))
    for (let count = 0; count < 3 * 40_000; count++) {
      const { token, times } = samples[random(3)]!
      // A fresh copy: a string that was hashed before may be prepared for the next time.
      const given = Buffer.from(token).toString('latin1')
      const started = process.hrtime.bigint()
      matches(given)
      if (count > 3 * 20_000) times.push(Number(process.hrtime.bigint() - started))
    }
    const [first, last, length] = samples.map(({ times }) => quick(times)) as [number[], number[], number[]]
    for (const [a, b] of [[first, last], [first, length], [last, length]] as const) expect(Math.abs(welch(a, b))).toBeLessThan(4.5)
  })
})
