// Evaluates the expressions of alert rules over samples, as far as the documentation uses PromQL: selectors with an
// offset or a range, `increase`, `sum by`, `or`, `unless` and comparisons.

export interface Series {
  name: string
  labels: Readonly<Record<string, string>>
  /** One value a minute; undefined: the series does not exist. */
  values: readonly (number | undefined)[]
}

type Vector = readonly { labels: Series['labels']; value: number }[]
type Evaluate = (at: number) => Vector

const minutes = (text: string): number => Number.parseInt(text) * (text.endsWith('h') ? 60 : 1)
const keyOf = (labels: Series['labels']): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))

export function evaluate(expr: string, series: readonly Series[], at: number): Vector {
  const tokens = expr.match(/"[^"]*"|=~|==|[\w.:]+|[^\s\w]/g) ?? []
  const take = (): string => tokens.shift() ?? ''
  const takeIf = (...words: string[]): string | undefined => (words.includes(tokens[0] ?? '') ? take() : undefined)
  const expect = (word: string): void => {
    const found = take()
    if (found !== word) throw new Error(`expected ${word}, not ${found}, in ${expr}`)
  }

  function comparison(): Evaluate {
    const left = union()
    const operator = takeIf('>', '==')
    if (operator === undefined) return left
    const limit = Number(take())
    return (time) => left(time).filter(({ value }) => (operator === '>' ? value > limit : value === limit))
  }

  function union(): Evaluate {
    let left = difference()
    while (takeIf('or')) left = combine(left, difference(), (a, b) => [...a, ...without(b, a)])
    return left
  }

  function difference(): Evaluate {
    let left = operand()
    while (takeIf('unless')) left = combine(left, operand(), without)
    return left
  }

  function operand(): Evaluate {
    const aggregate = takeIf('sum')
    if (aggregate) return sum(takeIf('by') ? labelNames() : [])
    if (takeIf('(')) return closed(union())
    if (takeIf('increase')) {
      expect('(')
      return closed(increase(selector()))
    }
    const read = selector()
    const offset = takeIf('offset') ? minutes(take()) : 0
    return (time) =>
      read().flatMap((one) => {
        const value = one.values[time - offset]
        return value === undefined ? [] : [{ ...one, value }]
      })
  }

  function closed(inner: Evaluate): Evaluate {
    expect(')')
    return inner
  }

  function labelNames(): string[] {
    expect('(')
    const names: string[] = []
    for (let name = take(); name !== ')'; name = take()) if (name !== ',') names.push(name)
    return names
  }

  function sum(by: readonly string[]): Evaluate {
    expect('(')
    const inner = closed(union())
    return (time) => {
      const groups = Map.groupBy(inner(time), ({ labels }) =>
        JSON.stringify(Object.fromEntries(by.map((name) => [name, labels[name] ?? '']))),
      )
      return Array.from(groups, ([labels, all]) => ({
        labels: JSON.parse(labels) as Series['labels'],
        value: all.reduce((total, { value }) => total + value, 0),
      }))
    }
  }

  function selector(): () => Series[] {
    const name = take()
    const tests: ((labels: Series['labels']) => boolean)[] = []
    if (takeIf('{')) {
      do {
        const [label, operator, value] = [take(), take(), JSON.parse(take()) as string]
        const pattern = new RegExp(`^(?:${value})$`)
        tests.push((labels) => (operator === '=~' ? pattern.test(labels[label] ?? '') : labels[label] === value))
      } while (takeIf(','))
      expect('}')
    }
    return () => series.filter((one) => one.name === name && tests.every((test) => test(one.labels)))
  }

  function increase(read: () => Series[]): Evaluate {
    expect('[')
    const range = minutes(take())
    expect(']')
    return (time) =>
      read().flatMap((one) => {
        const seen = one.values.slice(Math.max(0, time - range), time + 1).filter((value) => value !== undefined)
        if (seen.length < 2) return []
        // A lower value is that of a process that has started again.
        const value = seen.reduce((total, now, index) => total + growth(seen[index - 1] ?? now, now), 0)
        return [{ ...one, value }]
      })
  }

  return comparison()(at)
}

const growth = (before: number, now: number): number => (now >= before ? now - before : now)

const combine =
  (left: Evaluate, right: Evaluate, merge: (a: Vector, b: Vector) => Vector): Evaluate =>
  (time) =>
    merge(left(time), right(time))

/** Those with labels that the others do not have. */
function without(from: Vector, others: Vector): Vector {
  const keys = new Set(others.map(({ labels }) => keyOf(labels)))
  return from.filter(({ labels }) => !keys.has(keyOf(labels)))
}
