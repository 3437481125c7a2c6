// Whether the time of a refusal tells what the right token looks like: one guess against different secrets,
// interleaved, Welch's t-test.
import { describe, expect, it } from 'vitest'
import { createMatcher } from '../../core/http/auth.ts'
import { chooseSeed, createRandom } from '../http/fuzzing.ts'

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

/** Without the slowest tenth: collections and interrupts, not the comparison. */
const quick = (values: number[]) => values.toSorted((a, b) => a - b).slice(0, values.length * 0.9)

/** The greatest difference between any two secrets, in units of its own uncertainty. */
function measure(random: (below: number) => number): number {
  const samples = Object.values(secrets).map((secret) => ({ matches: createMatcher(secret), times: [] as number[] }))
  for (let count = 0; count < 160_000; count++) {
    const { matches, times } = samples[random(samples.length)]!
    // A fresh copy: the engine may prepare a string that it has seen.
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
    // A leak shows in every round, a busy machine in some.
    const rounds = Array.from({ length: 5 }, () => measure(random)).toSorted((a, b) => a - b)
    expect(rounds[2]).toBeLessThan(4.5)
  })
})
