// Tests how the kit writes durations.
import { expect, it } from 'vitest'
import { formatMs } from '../../core/kit/describe-step.ts'

it.each([
  [40, '40 ms'],
  [400, '0.4 s'],
  [9_949, '9.9 s'],
  [9_960, '10 s'],
  [119_400, '119 s'],
  [119_600, '2 min 0 s'],
  [179_600, '3 min 0 s'],
  [200_000, '3 min 20 s'],
])('writes %i ms as %s', (ms, text) => expect(formatMs(ms)).toBe(text))
