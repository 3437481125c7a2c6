// Computes the window of a budget at a time: a fixed stretch of time, by the calendar of a time zone if it has days.
import { dayMs } from '../config/budget-period.ts'
import type { Timestamp } from '../store/store.ts'

/** The end is exclusive. */
export interface Window {
  start: Timestamp
  end: Timestamp
}

/** Returns the window that contains a time. */
export type FindWindow = (periodMs: number, at: Timestamp) => Window

/**
 * Windows of days begin at midnight of the time zone. Those of several days are counted from 1970-01-01. Shorter windows
 * begin at the multiples of their length since 1970 UTC, whatever the time zone, so they do not ask for it.
 */
export function createFindWindow(timeZone: () => string): FindWindow {
  let known: ((at: Timestamp) => number) | undefined
  const dayOf = (at: Timestamp): number => (known ??= createDayOf(timeZone()))(at)
  return (periodMs, at) => {
    if (periodMs < dayMs) {
      const start = Math.floor(at / periodMs) * periodMs
      return { start, end: start + periodMs }
    }
    const days = periodMs / dayMs
    const first = Math.floor(dayOf(at) / days) * days
    return { start: findMidnight(dayOf, first), end: findMidnight(dayOf, first + days) }
  }
}

/** Returns the days from 1970-01-01 to the date in the time zone. */
function createDayOf(timeZone: string): (at: Timestamp) => number {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  })
  return (at) => {
    const fields = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
    return Date.UTC(fields['year'] ?? 0, (fields['month'] ?? 1) - 1, fields['day'] ?? 1) / dayMs
  }
}

/** No time zone is further from UTC. */
const maxOffsetMs = 16 * 60 * 60 * 1000

/** The first moment of a day. It is not 0:00 where the clock is put forward at midnight. */
function findMidnight(dayOf: (at: Timestamp) => number, day: number): Timestamp {
  let [before, from] = [day * dayMs - maxOffsetMs, day * dayMs + maxOffsetMs]
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2)
    if (dayOf(middle) < day) before = middle
    else from = middle
  }
  return from
}
