// Counters and histograms by name, and the Prometheus text format.

/** The caller must keep the number of their values small. */
export type Labels = Readonly<Record<string, string>>

export type Sample = readonly [labels: Labels, value: number]

export interface Counter {
  add(labels?: Labels, amount?: number): void
}

export interface Histogram {
  observe(value: number, labels?: Labels): void
}

/** `first`: the labels that have a value before something is counted. */
export interface Registry {
  counter(name: string, help: string, first?: readonly Labels[]): Counter
  /** `bounds`: the upper bounds of the buckets. One more bucket counts larger values. */
  histogram(name: string, help: string, options: { bounds: readonly number[]; first?: readonly Labels[] }): Histogram
  /** Returns the lines of all of them. */
  render(): string[]
}

export function createRegistry(): Registry {
  const families: (() => string[])[] = []
  return {
    counter(name, help, first = []) {
      const series = createSeries(() => ({ total: 0 }), first)
      families.push(() => [
        ...heading({ type: 'counter', name, help }),
        ...series.all().map(([labels, { total }]) => sample(name, labels, total)),
      ])
      return {
        add(labels = {}, amount = 1) {
          series.of(labels).total += amount
        },
      }
    },
    histogram(name, help, { bounds, first = [] }) {
      const all = [...bounds, Infinity]
      const series = createSeries<Distribution>(
        () => ({ buckets: all.map((bound) => ({ bound, count: 0 })), sum: 0 }),
        first,
      )
      families.push(() => [
        ...heading({ type: 'histogram', name, help }),
        ...series.all().flatMap(([labels, values]) => samplesOf(name, labels, values)),
      ])
      return {
        observe(value, labels = {}) {
          const found = series.of(labels)
          const bucket = found.buckets.find(({ bound }) => value <= bound)
          if (bucket) bucket.count++
          // A time is negative if the clock was set back meanwhile. A sum only grows.
          found.sum += Math.max(0, value)
        },
      }
    },
    render: () => families.flatMap((render) => render()),
  }
}

/** What is counted, by labels. All labels of a metric have the same names, in the same order. */
function createSeries<Value>(create: () => Value, first: readonly Labels[]) {
  const byKey = new Map<string, [labels: Labels, value: Value]>()
  const of = (labels: Labels): Value => {
    // Every request passes here several times, so the text of the labels is made when they are read.
    let key = ''
    for (const name in labels) key += `${labels[name]}\0`
    const known = byKey.get(key)
    if (known) return known[1]
    const value = create()
    byKey.set(key, [labels, value])
    return value
  }
  first.forEach(of)
  return { of, all: () => Array.from(byKey.values(), ([labels, value]) => [format(labels), value] as const) }
}

/** Returns the lines of a metric that is read at each scrape. */
export const family = (metric: Metric, samples: readonly Sample[]): string[] => [
  ...heading(metric),
  ...samples.map(([labels, value]) => sample(metric.name, format(labels), value)),
]

/** Returns the first `max` values of a label unchanged and all later ones as `other`, so that metrics stay small. */
export function createBoundedValues(max: number): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (!known.has(value) && known.size >= max) return 'other'
    known.add(value)
    return value
  }
}

interface Metric {
  type: string
  name: string
  help: string
}

const heading = ({ type, name, help }: Metric): string[] => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]

const sample = (name: string, labels: string, value: number): string => `${name}${labels && `{${labels}}`} ${value}`

const format = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escape(value)}"`)
    .join(',')

const escape = (value: string): string => value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))

/** The values of a histogram. */
interface Distribution {
  /** By their upper bounds. */
  buckets: { bound: number; count: number }[]
  sum: number
}

/** Renders cumulative buckets: each one also counts the values of those before it. */
function samplesOf(name: string, labels: string, { buckets, sum }: Distribution): string[] {
  let total = 0
  const rows = buckets.map(({ bound, count }) => {
    const le = `le="${bound === Infinity ? '+Inf' : bound}"`
    return sample(`${name}_bucket`, labels ? `${labels},${le}` : le, (total += count))
  })
  return [...rows, sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, total)]
}
