// Formats times, durations and numbers for the reader.

/** Making a format takes a hundred times as long as using it. */
const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const clockFormat = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })
const countFormat = new Intl.NumberFormat()

/** How long ago a time was, or how far ahead it is: `now`, `12 s`, `5 min`, `3 h`, `4 d`. */
export function formatAge(at: number, now: number): string {
  const seconds = Math.round(Math.abs(now - at) / 1000)
  if (seconds < 5) return 'now'
  const age = formatSpan(seconds)
  return at > now ? `in ${age}` : `${age} ago`
}

function formatSpan(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** A duration such as `350 ms`, `1.2 s` or `4 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}

/** A time in the reader's zone, exact to the second. */
export const formatExact = (at: number): string => exactFormat.format(at)

/** The time of day, exact to the second. */
export const formatClock = (at: number): string => clockFormat.format(at)

export const formatCount = (count: number): string => countFormat.format(count)

/** Returns a number with a noun: `1 run`, `2 runs`. */
export const plural = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Quotes a text for a POSIX shell. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** An amount of US dollars: `$12.35`, and `$0.0042` for amounts that are below a few cents. Undefined: not known. */
export function formatCost(amount: number | undefined): string {
  if (amount === undefined) return '–'
  if (amount === 0) return '$0'
  if (amount < 0.0001) return '<$0.0001'
  const digits = amount < 0.1 ? 4 : 2
  return `$${amount.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits })}`
}
