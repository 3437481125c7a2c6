// Tests that the time to refuse a token reveals nothing about the secret: compares the times of one guess against
// several secrets with Welch's t-test.
import { describe, expect, it } from 'vitest'
import { createMatcher } from '../../core/kit/matcher.ts'
import { chooseSeed } from '../config/random.ts'
import { createRandom } from '../http/fuzzing.ts'

const guess = 'timing-token-0123456789-abcdefghijklmnop'
const secrets = {
  'differs in its first byte': `X${guess.slice(1)}`,
  'differs in its last byte': `${guess.slice(0, -1)}X`,
  'is shorter': guess.slice(0, -1),
  'is much longer': guess.repeat(100),
}

function welch(a: number[], b: number[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const spread = (values: number[], middle: number) =>
    values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1)
  const [meanA, meanB] = [mean(a), mean(b)]
  return (meanA - meanB) / Math.sqrt(spread(a, meanA) / a.length + spread(b, meanB) / b.length)
}

/** Removes the slowest tenth, which measures garbage collection and interrupts. */
const quick = (values: number[]) => values.toSorted((a, b) => a - b).slice(0, values.length * 0.9)

/** Returns the largest difference between any two secrets, in standard errors. */
function measure(random: (below: number) => number): number {
  const samples = Object.values(secrets).map((secret) => ({ matches: createMatcher(secret), times: [] as number[] }))
  for (let count = 0; count < 160_000; count++) {
    const { matches, times } = samples[random(samples.length)]!
    // Copies the string, because the engine may cache work for a string that it has seen.
    const given = Buffer.from(guess).toString('latin1')
    const started = process.hrtime.bigint()
    matches(given)
    if (count >= 80_000) times.push(Number(process.hrtime.bigint() - started))
  }
  const times = samples.map((sample) => quick(sample.times))
  return Math.max(...times.flatMap((a, index) => times.slice(index + 1).map((b) => Math.abs(welch(a, b)))))
}

describe('the time to refuse a token', () => {
  it('does not depend on the secret', { timeout: 300_000 }, () => {
    const random = createRandom(chooseSeed())
    // A leak shows in every round, a busy machine only in some.
    const rounds = Array.from({ length: 5 }, () => measure(random)).toSorted((a, b) => a - b)
    expect(rounds[2]).toBeLessThan(4.5)
  })
})
