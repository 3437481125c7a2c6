// Parsing durations.
import { expect, it } from 'vitest'
import { parseDuration } from '../../core/kit/duration.ts'

it.each([
  [0, 0],
  ['0', 0],
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['1h30m', 5_400_000],
  ['2d', 172_800_000],
  ['24d', 2_073_600_000],
  ['0m', 0],
])('%j is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

it.each(['', ' ', '30', 30, -1, '-30m', '1.5h', '30M', '30 m', '30m1h', '1h1h', 'h', '25d', '99999999999999999s', NaN])(
  '%j is none',
  (text) => {
    expect(parseDuration(text)).toBeUndefined()
  },
)
