// Counters, histograms and labels, from which the metrics are built.

/** Values by label, such as `status="200"`. The caller must keep the number of labels small. */
export type Counter = Map<string, number>

export interface Histogram {
  /** Upper bounds of the buckets. One more bucket counts larger values. */
  bounds: readonly number[]
  counts: number[]
  sum: number
  observe(value: number): void
}

export function count(counter: Counter, label: string, times = 1): void {
  counter.set(label, (counter.get(label) ?? 0) + times)
}

/** Formats label names and values in the Prometheus text format. */
export const labels = (pairs: Record<string, string>): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`)
    .join()

/**
 * Returns the first `maxValues` values of a label unchanged and all later ones as `other`, so that metrics stay small.
 */
export function createBoundedValues(maxValues: number): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (!known.has(value) && known.size >= maxValues) return 'other'
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

/** The histogram of a label. The first value of a label creates it. */
export function histogramOf(histograms: Map<string, Histogram>, label: string, bounds: readonly number[]): Histogram {
  const histogram = histograms.get(label) ?? createHistogram(bounds)
  histograms.set(label, histogram)
  return histogram
}
