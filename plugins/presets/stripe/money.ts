// Amounts as people write them. Stripe counts in the smallest unit of a currency.
import { line } from 'svc-gateway/kit'

const wholeCurrencies: ReadonlySet<string> = new Set(
  'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '),
)
const threeDecimals: ReadonlySet<string> = new Set('BHD JOD KWD OMR TND'.split(' '))

/** Currencies without a smaller unit for which Stripe counts in hundredths nevertheless. */
const wholeInHundredths: ReadonlySet<string> = new Set(['ISK', 'UGX'])
const wholeInPayouts: ReadonlySet<string> = new Set(['HUF', 'TWD'])

/** Without a currency, the unit of the amount is unknown, and so it is of an amount with decimals: `undefined`. */
export function money(
  amount: number | null | undefined,
  currency: string | null | undefined,
  object?: string | null,
): string | undefined {
  if (!Number.isSafeInteger(amount) || typeof amount !== 'number' || !currency) return undefined
  const code = line(currency, 10).toUpperCase()
  if (!/^[A-Z]{3}$/.test(code)) return undefined
  if (wholeCurrencies.has(code)) return `${amount} ${code}`
  if (threeDecimals.has(code)) return `${(amount / 1000).toFixed(3)} ${code}`
  const isWhole = wholeInHundredths.has(code) || (object === 'payout' && wholeInPayouts.has(code))
  return `${(amount / 100).toFixed(isWhole && amount % 100 === 0 ? 0 : 2)} ${code}`
}
