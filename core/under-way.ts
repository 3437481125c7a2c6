// Counts asynchronous work that is under way, so that whoever closes can wait for its end.

export interface UnderWay {
  /** @returns the same promise */
  add<Result>(work: Promise<Result>): Promise<Result>
  /** Resolves when no work is under way, also none that was added meanwhile. */
  settled(): Promise<void>
}

export function createUnderWay(): UnderWay {
  const works = new Set<Promise<unknown>>()
  return {
    add: (work) => {
      const remove = (): void => void works.delete(work)
      works.add(work)
      work.then(remove, remove)
      return work
    },
    settled: async () => {
      while (works.size > 0) await Promise.allSettled(works)
    },
  }
}
