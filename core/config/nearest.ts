// Finds the known name that is most similar to a misspelled one.

/** The name with the fewest typing mistakes; undefined if even that one is too different. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const mistakes = (name: string) => distance(typed.toLowerCase(), name.toLowerCase())
  const best = names.map((name) => ({ name, mistakes: mistakes(name) })).toSorted((a, b) => a.mistakes - b.mistakes)[0]
  return best && best.mistakes <= Math.max(1, Math.floor(Math.max(typed.length, best.name.length) / 3))
    ? best.name
    : undefined
}

/** A question for an error message about an unknown name, or `otherwise` if no name is similar. */
export function suggest(typed: string, names: readonly string[], otherwise: string): string {
  const name = nearest(typed, names)
  return name === undefined ? otherwise : `did you mean "${name}"?`
}

/** The number of letters that were added, dropped, changed or swapped with their neighbor. */
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
