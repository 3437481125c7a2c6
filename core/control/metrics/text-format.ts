// Renders metrics in the Prometheus text format.
import type { Counter, Histogram } from './counters.ts'

export type Samples = Iterable<readonly [label: string, value: number]>

export function family(name: string, typeAndHelp: string, samples: Samples | Counter): string[] {
  const [type, ...help] = typeAndHelp.split(' ')
  const lines = Array.from(samples, ([label, value]) => `${name}${label && `{${label}}`} ${value}`)
  return [`# HELP ${name} ${help.join(' ')}`, `# TYPE ${name} ${type}`, ...lines]
}

export const histogram = (name: string, help: string, values: Histogram): string[] =>
  histograms(name, help, [['', values]])

export function histograms(
  name: string,
  help: string,
  samples: Iterable<readonly [label: string, values: Histogram]>,
): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} histogram`,
    ...Array.from(samples, (sample) => buckets(name, ...sample)).flat(),
  ]
}

/** Renders cumulative buckets: each one also counts the values of those before it. */
function buckets(name: string, label: string, { bounds, counts, sum }: Histogram): string[] {
  let total = 0
  const [labelSet, prefix] = label ? [`{${label}}`, `${label},`] : ['', '']
  const rows = [...bounds, '+Inf'].map(
    (bound, index) => `${name}_bucket{${prefix}le="${bound}"} ${(total += counts[index] ?? 0)}`,
  )
  return [...rows, `${name}_sum${labelSet} ${sum}`, `${name}_count${labelSet} ${total}`]
}
