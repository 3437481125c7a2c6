// Counts attempts that are under way, so that what they use is closed after them.

/** Counts what is under way. */
export function createInFlight() {
  const underWay = new Set<Promise<unknown>>()
  return {
    track: async <T>(work: Promise<T>): Promise<T> => {
      underWay.add(work)
      try {
        return await work
      } finally {
        underWay.delete(work)
      }
    },
    idle: async (): Promise<void> => {
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}
