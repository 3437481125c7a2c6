// Repeats a write that must not be lost until the store is available again.
import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'

interface RetryOptions {
  everyMs: number
  /** True: stop retrying. The next start of the gateway finds out what was not written. */
  isGivenUp(): boolean
}

/** Rejects with any error other than `store_unavailable`, and with that one when `isGivenUp` returns true. */
export async function retryUntilStored<Result>(
  write: () => Promise<Result>,
  { everyMs, isGivenUp }: RetryOptions,
): Promise<Result> {
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (isGivenUp() || !(error instanceof GatewayError && error.code === 'store_unavailable')) throw error
      await delay(everyMs, undefined, { ref: false })
    }
  }
}
