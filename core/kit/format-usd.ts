// Formats amounts of money for people.

/** `$12.35`, and `$0.0042` for amounts that are below a few cents. */
export function formatUsd(amount: number): string {
  if (amount === 0) return '$0'
  if (amount < 0.0001) return '<$0.0001'
  return `$${amount.toFixed(amount < 0.1 ? 4 : 2)}`
}
