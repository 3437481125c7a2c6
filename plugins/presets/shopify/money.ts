// Amounts as people write them. Shopify counts in the main unit of a currency.

/** Shopify writes `500.00` also for a currency without decimals. */
export function money(
  amount: string | number | null | undefined,
  currency: string | null | undefined,
): string | undefined {
  const value = Number(amount)
  if (amount === null || amount === undefined || amount === '' || !(Math.abs(value) < 1e15)) return undefined
  return `${value.toFixed(decimalsOf(currency))} ${currency ?? ''}`.trimEnd()
}

const decimalsOf = (currency: string | null | undefined): number =>
  /^[A-Z]{3}$/.test(currency ?? '')
    ? (new Intl.NumberFormat('en', { style: 'currency', currency: currency as string }).resolvedOptions()
        .maximumFractionDigits ?? 2)
    : 2
