// Writes that must not be lost: repeated for as long as the store is away.
import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'

interface Patience {
  everyMs: number
  /** True: it is time to stop; the next start finds out what was not written. */
  givenUp(): boolean
}

/** The write's result. Throws what is not the store's absence, and that too once the patience is over. */
export async function retryUntilStored<Result>(
  write: () => Promise<Result>,
  { everyMs, givenUp }: Patience,
): Promise<Result> {
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (givenUp() || !(error instanceof GatewayError && error.code === 'store_unavailable')) throw error
      await delay(everyMs, undefined, { ref: false })
    }
  }
}
