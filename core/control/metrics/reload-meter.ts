// Remembers how the last reload of the configuration went, and when.

export interface ReloadMeter {
  /** Whether the configuration in the file is the one in force. */
  isSuccessful: boolean
  /** Seconds since 1970, of the last one that succeeded; the start counts as one. */
  succeededAt: number
  /** Counts by result. */
  total: ReadonlyMap<string, number>
  watch<Result>(reload: () => Promise<Result>): () => Promise<Result>
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
    watch: (reload) => async () => {
      try {
        const result = await reload()
        note(true)
        return result
      } catch (error) {
        note(false)
        throw error
      }
    },
  }
  function note(isSuccessful: boolean): void {
    const label = isSuccessful ? 'result="success"' : 'result="failure"'
    total.set(label, (total.get(label) ?? 0) + 1)
    meter.isSuccessful = isSuccessful
    if (isSuccessful) meter.succeededAt = Date.now() / 1000
  }
  return meter
}
