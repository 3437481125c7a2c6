// Stops a transform that keeps failing: three failures in a row open the circuit for a minute.

/** Three ends in a row, and a rest; after it one more end is enough for the next rest. */
export function createCircuitBreaker() {
  let count = 0
  let restUntil = 0
  return {
    isOpen: (): boolean => performance.now() < restUntil,
    /** @returns whether that was one too many */
    recordFailure(): boolean {
      const opens = ++count >= 3
      if (opens) restUntil = performance.now() + restMs
      return opens
    },
    recordSuccess(): void {
      count = 0
      restUntil = 0
    },
  }
}

const restMs = 60_000
