// Reads phone numbers in the forms in which people write them.

/**
 * Returns a phone number as `+` and digits, whether it was written as `+1 (555) 111-2222`, `15551112222`,
 * `0015551112222` or `tel:+1-555-111-2222`. A number without its country code, which begins with a single zero, stays
 * without `+`. Returns `undefined` for anything else.
 */
export function phoneNumber(text: string): string | undefined {
  const compact = text
    .trim()
    .replace(/^tel:/i, '')
    .replaceAll(/[\s().\-/]/g, '')
  if (!/^\+?\d{3,18}$/.test(compact)) return undefined
  if (compact.startsWith('+')) return compact
  if (compact.startsWith('00')) return `+${compact.slice(2)}`
  return compact.startsWith('0') ? compact : `+${compact}`
}
