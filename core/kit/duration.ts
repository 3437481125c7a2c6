// Parses durations such as `90s`, `30m` and `1h30m`.

const units = /^(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/

/** The pattern of a duration other than `0`, for schemas. */
export const durationPattern = units.source

/** The maximum of a timer. */
const maxMs = 2 ** 31 - 1

/**
 * @param most the longest duration, in milliseconds. Default: the one of a timer, 24 days.
 * @returns milliseconds; 0 for `0` and `"0"`; `undefined` for an invalid or longer duration
 */
export function parseDuration(text: string | number, most = maxMs): number | undefined {
  if (text === 0 || text === '0') return 0
  const match = units.exec(String(text))
  if (!match) return undefined
  const [days, hours, minutes, seconds] = match.slice(1).map((digits) => Number(digits ?? 0))
  const ms = ((((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0)) * 1000
  return ms <= most ? ms : undefined
}
