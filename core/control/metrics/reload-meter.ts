// Records the result and the time of the last configuration reload.

export interface ReloadMeter {
  /** Whether the last reload succeeded. */
  isSuccessful: boolean
  /** When the configuration was last loaded, in Unix seconds. */
  succeededAt: number
  /** Reloads by result. */
  total: ReadonlyMap<string, number>
  /** Wraps the function so that its results are recorded. */
  instrument<Result>(reload: () => Promise<Result>): () => Promise<Result>
}

export function createReloadMeter(): ReloadMeter {
  const total = new Map([
    ['result="success"', 0],
    ['result="failure"', 0],
  ])
  const meter: ReloadMeter = {
    isSuccessful: true,
    succeededAt: Date.now() / 1000,
    total,
    instrument: (reload) => async () => {
      try {
        const result = await reload()
        record(true)
        return result
      } catch (error) {
        record(false)
        throw error
      }
    },
  }
  function record(isSuccessful: boolean): void {
    const label = isSuccessful ? 'result="success"' : 'result="failure"'
    total.set(label, (total.get(label) ?? 0) + 1)
    meter.isSuccessful = isSuccessful
    if (isSuccessful) meter.succeededAt = Date.now() / 1000
  }
  return meter
}
