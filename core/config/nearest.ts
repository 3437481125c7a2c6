// The nearest known name to a mistyped one.

/** The one of `names` that takes the fewest typing mistakes to become `typed`; none when even that is far off. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const mistakes = (name: string) => distance(typed.toLowerCase(), name.toLowerCase())
  const best = names.map((name) => ({ name, mistakes: mistakes(name) })).toSorted((a, b) => a.mistakes - b.mistakes)[0]
  return best && best.mistakes <= Math.max(1, Math.floor(Math.max(typed.length, best.name.length) / 3))
    ? best.name
    : undefined
}

/** How many letters must be added, dropped, changed or swapped with their neighbour. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  const cost = (row: number, column: number) => rows[row]?.[column] ?? Infinity
  for (let i = 1; i <= a.length; i++) {
    rows[i] = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = cost(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? cost(i - 2, j - 2) + 1 : Infinity
      rows[i]?.push(Math.min(changed, swapped, cost(i - 1, j) + 1, cost(i, j - 1) + 1))
    }
  }
  return cost(a.length, b.length)
}
