// The rate limit of a mapping: a token bucket that holds the requests of one minute and refills evenly.
import { GatewayError } from '../errors.ts'

/** Counts one request, or throws `too_many_requests`. */
export type CheckRate = () => void

/** `now` returns monotonic milliseconds. */
export function createRateLimit(maxPerMinute: number, now: () => number = () => performance.now()): CheckRate {
  const msPerRequest = 60_000 / maxPerMinute
  let left = maxPerMinute
  let at = now()
  return () => {
    const time = now()
    left = Math.min(maxPerMinute, left + (time - at) / msPerRequest)
    at = time
    if (left < 1)
      throw new GatewayError('too_many_requests', undefined, { retryAfter: ((1 - left) * msPerRequest) / 1000 })
    left -= 1
  }
}
