// How many requests a mapping takes: so many at once, then one after another as the minute goes by.
import { GatewayError } from '../errors.ts'

/** Takes one request, or throws `too_many_requests`. */
export type Rate = () => void

/** A bucket that holds one minute's requests and fills up evenly. `now`: monotonic milliseconds. */
export function createRate(maxPerMinute: number, now: () => number = () => performance.now()): Rate {
  const msEach = 60_000 / maxPerMinute
  let left = maxPerMinute
  let at = now()
  return () => {
    const time = now()
    left = Math.min(maxPerMinute, left + (time - at) / msEach)
    at = time
    if (left < 1) throw new GatewayError('too_many_requests', undefined, { retryAfter: ((1 - left) * msEach) / 1000 })
    left -= 1
  }
}
