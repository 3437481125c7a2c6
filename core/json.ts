// Reads JSON so that an integer beyond 2^53 keeps its digits: it becomes a BigInt. `JSON.stringify` writes it back.

type Revive = (key: string, value: unknown) => unknown

/** The value as it was written, which TypeScript does not know yet. */
type ReviveSource = (key: string, value: unknown, context: { source?: string }) => unknown

/**
 * Parses JSON text. An integer that a number cannot hold exactly becomes a BigInt; everything else is as with
 * `JSON.parse`. Use it for every text whose values come from outside.
 */
export function readJson(text: string, revive?: Revive): unknown {
  if (!mayHoldLongInteger(text)) return JSON.parse(text, revive)
  const reviveExactly: ReviveSource = (key, value, { source }) => {
    const exact = typeof value === 'number' ? exactNumber(value, source) : value
    return revive ? revive(key, exact) : exact
  }
  return JSON.parse(text, reviveExactly as Revive)
}

/** The first search is for the most texts: it is much faster than the second, and finds nothing. */
const mayHoldLongInteger = (text: string): boolean => /\d{16}/.test(text) && /(?:^|[[:,])\s*-?\d{16}/.test(text)

/** A number beyond the range of numbers is not read: it would be as long as its sender likes. */
const exactNumber = (value: number, source = ''): number | bigint =>
  Number.isSafeInteger(value) || !Number.isFinite(value) || !/^-?\d+$/.test(source) ? value : BigInt(source)

/**
 * Makes `JSON.stringify` write a BigInt as a number with all its digits, in this thread: also in libraries, such as
 * those of the models. Without it, `JSON.stringify` throws.
 */
export function writeBigInts(): void {
  // oxlint-disable-next-line eslint/no-extend-native -- the only way to reach every JSON.stringify, also in libraries
  Object.defineProperty(BigInt.prototype, 'toJSON', { value: toRawJson, configurable: true, writable: true })
}

function toRawJson(this: bigint): unknown {
  return rawJson(String(this))
}

/** What `JSON.stringify` writes as this text. TypeScript does not know it yet. */
export const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON

/** Whether a value holds a BigInt. */
export function holdsBigInt(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(holdsBigInt)
  return typeof value === 'bigint'
}
