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
      const values = new Map(first.map((labels) => [format(labels), 0]))
      const metric = { type: 'counter', name, help }
      families.push(() => [...heading(metric), ...Array.from(values, (one) => sample(name, ...one))])
      return {
        add(labels = {}, amount = 1) {
          const key = format(labels)
          values.set(key, (values.get(key) ?? 0) + amount)
        },
      }
    },
    histogram(name, help, { bounds, first = [] }) {
      const all = [...bounds, Infinity]
      const create = (): Series => ({ buckets: all.map((bound) => ({ bound, count: 0 })), sum: 0 })
      const series = new Map(first.map((labels) => [format(labels), create()]))
      families.push(() => [
        ...heading({ type: 'histogram', name, help }),
        ...Array.from(series, ([labels, values]) => samplesOf(name, labels, values)).flat(),
      ])
      return {
        observe(value, labels = {}) {
          const key = format(labels)
          const found = series.get(key) ?? create()
          series.set(key, found)
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

/** Every request passes here several times, so this makes no lists. */
function format(labels: Labels): string {
  let text = ''
  for (const name in labels) text += `${text && ','}${name}="${escape(labels[name] ?? '')}"`
  return text
}

const escape = (value: string): string => value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))

interface Series {
  /** By their upper bounds. */
  buckets: { bound: number; count: number }[]
  sum: number
}

/** Renders cumulative buckets: each one also counts the values of those before it. */
function samplesOf(name: string, labels: string, { buckets, sum }: Series): string[] {
  let total = 0
  const rows = buckets.map(({ bound, count }) => {
    const le = `le="${bound === Infinity ? '+Inf' : bound}"`
    return sample(`${name}_bucket`, labels ? `${labels},${le}` : le, (total += count))
  })
  return [...rows, sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, total)]
}
