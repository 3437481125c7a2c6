// What metrics are made of: counters, histograms, and the labels that tell their values apart.

/** Values by label, `status="200"`. Whoever counts keeps the number of labels small. */
export type Counter = Map<string, number>

export interface Histogram {
  /** Upper bounds of the buckets; one more bucket is for what is larger. */
  bounds: readonly number[]
  counts: number[]
  sum: number
  observe(value: number): void
}

export function count(counter: Counter, label: string, times = 1): void {
  counter.set(label, (counter.get(label) ?? 0) + times)
}

/** Label names and their values as the text format has them. */
export const labels = (pairs: Record<string, string>): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`))}"`)
    .join()

/** The first `most` values of a label as they are, all later ones as `other`: a metric must not grow without bound. */
export function createValues(most: number): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (!known.has(value) && known.size >= most) return 'other'
    known.add(value)
    return value
  }
}

export function createHistogram(bounds: readonly number[]): Histogram {
  const histogram: Histogram = {
    bounds,
    counts: Array.from({ length: bounds.length + 1 }, () => 0),
    sum: 0,
    observe(value) {
      const found = bounds.findIndex((bound) => value <= bound)
      const bucket = found === -1 ? bounds.length : found
      histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1
      histogram.sum += value
    },
  }
  return histogram
}
