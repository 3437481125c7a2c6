// The schemas of texts with a format: durations, times, time zones, addresses. Each says in one sentence what it must be,
// for `check`. What a pattern cannot express, such as the longest duration, is checked by the rules, with the same sentence.
import { durationPattern } from '../../kit/duration.ts'
import { Type } from '../../typebox.ts'

interface FormatOptions {
  default?: string
  fallback?: string
}

/** What each duration must be. */
export const durations = {
  interval: 'must be a duration of at most 24 days, such as "90s", "30m" or "1h30m", or 0 for none',
  silence: 'must be a duration of at most 24 days, such as "90s" or "5m", or 0 for no limit',
  waiting: 'must be a duration of at most 24 days, such as "30m", "1h" or "2d"',
  period:
    'must be whole days, such as "1d" or "30d" and at most 366, or less than a day in steps of five minutes, ' +
    'such as "15m" or "1h"',
} as const

const textWith = (pattern: string, errorMessage: string, options: FormatOptions & { description: string }) =>
  Type.String({ pattern, errorMessage, ...options })

/** A duration such as "90s", or 0. */
export const DurationOrZero = (
  kind: 'interval' | 'silence',
  options: FormatOptions & { description: string; default: string },
) =>
  Type.Unsafe<string | number>({
    type: ['string', 'number'],
    pattern: `^0$|${durationPattern}`,
    minimum: 0,
    maximum: 0,
    errorMessage: durations[kind],
    ...options,
  })

/** A duration such as "90s". */
export const Duration = (kind: 'waiting' | 'period', description: string, options: FormatOptions = {}) =>
  textWith(durationPattern, durations[kind], { ...options, description })

export const timeSentence = 'must be a time such as 2030-01-31T00:00:00Z'

/** A date, or a date with a time of day. */
export const Time = (description: string) =>
  textWith(
    String.raw`^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$`,
    timeSentence,
    { description },
  )

const clock = '(?:[01][0-9]|2[0-3]):[0-5][0-9]'

/** A time of day. */
export const StartTime = (description: string) =>
  textWith(`^${clock}$`, 'must be a time of day from "00:00" to "23:59"', { description })

/** A time of day, or the end of the day. */
export const EndTime = (description: string) =>
  textWith(`^(?:${clock}|24:00)$`, 'must be a time of day from "00:00" to "24:00"', { description })

export const timezoneSentence = 'must be an IANA time zone, such as "Europe/Berlin" or "UTC"'

export const TimeZone = (description: string) =>
  textWith('^[A-Za-z][A-Za-z0-9_+/-]*$', timezoneSentence, { description })

export const networkSentence = 'must be an IP address or a CIDR block such as "10.0.0.0/8"'

/** An IP address, or a block of them. */
export const Network = () =>
  Type.String({ pattern: String.raw`^\s*[0-9A-Fa-f:.]+(?:%[^\s/]+)?(?:/\d{1,3})?\s*$`, errorMessage: networkSentence })
