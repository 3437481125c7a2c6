// The windows of budgets, against a reference that looks at every quarter of an hour of the calendar.
import { describe, expect, it } from 'vitest'
import { createFindWindow } from '../../core/budgets/window.ts'
import { createRandom, seed } from '../config/random.ts'

const [minute, hour, day] = [60_000, 3_600_000, 24 * 3_600_000]

/** In these zones days have 23 and 25 hours, half an hour more or less, a gap at midnight, or were left out. */
const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'Pacific/Apia',
  'Asia/Beirut',
]

function createDateOf(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  return (at) => format.format(at)
}

/** Walks from a time in steps of 15 minutes, in which all zones have changed since 2000, to the next change of date. */
function findChange(dateOf: (at: number) => string, from: number, step: number): number {
  const first = from - (from % (15 * minute))
  const date = dateOf(first)
  let at = first
  while (dateOf(step > 0 ? at : at + step) === date) at += step
  return at
}

describe('a window', () => {
  it.each(zones)('of a day in %s is from one change of date to the next', (zone) => {
    const random = createRandom(seed)
    const findWindow = createFindWindow(() => zone)
    const dateOf = createDateOf(zone)
    for (let count = 0; count < 60; count++) {
      const at = Date.UTC(2008) + Math.floor(random() * 20 * 365 * day)
      const { start, end } = findWindow(day, at)
      expect([start, end]).toEqual([findChange(dateOf, at, -15 * minute), findChange(dateOf, at, 15 * minute)])
    }
  })

  it.each([
    ['Europe/Berlin', '2026-03-29T12:00:00Z', 23],
    ['Europe/Berlin', '2026-10-25T12:00:00Z', 25],
    ['Europe/Berlin', '2026-06-01T12:00:00Z', 24],
    ['Australia/Lord_Howe', '2026-04-05T12:00:00+10:30', 24.5],
    ['Asia/Beirut', '2026-03-29T12:00:00Z', 23],
  ])('in %s at %s has %d hours', (zone, at, hours) => {
    const { start, end } = createFindWindow(() => zone)(day, Date.parse(at))
    expect((end - start) / hour).toBe(hours)
  })

  it.each(zones)('of several days in %s is made of days, and follows the one before without a gap', (zone) => {
    const findWindow = createFindWindow(() => zone)
    for (const days of [2, 7, 30, 366]) {
      const { start, end } = findWindow(days * day, Date.UTC(2026, 5, 15))
      const seen = [start]
      while (seen.at(-1)! < end) seen.push(findWindow(day, seen.at(-1)!).end)
      expect(seen.at(-1)).toBe(end)
      expect(seen).toHaveLength(days + 1)
      expect(findWindow(days * day, end).start).toBe(end)
      expect(findWindow(days * day, start - 1).end).toBe(start)
      for (const at of [start, end - 1]) expect(findWindow(days * day, at)).toEqual({ start, end })
    }
  })

  it('of less than a day begins at the multiples of its length in UTC, whatever the zone', () => {
    const at = Date.parse('2026-11-24T21:52:13.456Z')
    const window = (ms: number) => createFindWindow(() => 'Asia/Kathmandu')(ms, at)
    expect(window(5 * minute).start).toBe(Date.parse('2026-11-24T21:50:00Z'))
    expect(window(hour)).toEqual({
      start: Date.parse('2026-11-24T21:00:00Z'),
      end: Date.parse('2026-11-24T22:00:00Z'),
    })
    expect(window(6 * hour).start).toBe(Date.parse('2026-11-24T18:00:00Z'))
  })
})
