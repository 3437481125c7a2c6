// Runs asynchronous work one after another, in the order in which it was added.

export interface SerialQueue {
  /** Settles as the work does. Work that fails does not stop what comes after it. */
  add<Result>(work: () => PromiseLike<Result> | Result): Promise<Result>
  /** Resolves when what has been added until now has ended. */
  settled(): Promise<unknown>
}

export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return {
    add(work) {
      const result = last.then(work)
      last = result.catch(() => undefined)
      return result
    },
    settled: () => last,
  }
}
