// Stops a transform that keeps failing: three failures in a row open its circuit for a minute.

/**
 * After that minute the circuit is half-open: the transform runs again, one success closes the circuit, and one failure
 * reopens it.
 */
export function createCircuitBreaker() {
  let failures = 0
  let openUntil = 0
  return {
    isOpen: (): boolean => performance.now() < openUntil,
    /** @returns whether this failure opened the circuit */
    recordFailure(): boolean {
      const opens = ++failures >= maxFailures
      if (opens) openUntil = performance.now() + openMs
      return opens
    },
    close(): void {
      failures = 0
      openUntil = 0
    },
  }
}

const maxFailures = 3
const openMs = 60_000
