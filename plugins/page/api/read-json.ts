// Reads JSON so that an integer beyond 2^53 keeps its digits, as the gateway does: an approver must see what runs.

interface ExactJson {
  parse(text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): unknown
}

/** Older browsers cannot read digits, and round. */
const exact = 'rawJSON' in JSON ? (JSON as unknown as ExactJson) : undefined

export const readJson = (text: string): unknown =>
  exact && /\d{16}/.test(text) ? exact.parse(text, reviveInteger) : JSON.parse(text)

const reviveInteger = (_key: string, value: unknown, { source = '' }: { source?: string }): unknown =>
  typeof value === 'number' && Number.isFinite(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value

/** Makes `JSON.stringify` write such an integer. */
export function writeBigInts(): void {
  // oxlint-disable-next-line eslint/no-extend-native -- the only way to reach every JSON.stringify
  Object.defineProperty(BigInt.prototype, 'toJSON', { value: toRawJson, configurable: true })
}

function toRawJson(this: bigint): unknown {
  return exact?.rawJSON(String(this))
}
