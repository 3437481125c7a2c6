// Tests the daily window of heartbeats across midnight, time zones and daylight saving.
import { describe, expect, it } from 'vitest'
import { minutesUntilActive } from '../../core/schedules/active-hours.ts'

const berlin = 'Europe/Berlin'
const newYork = 'America/New_York'

describe('minutesUntilActive', () => {
  it.each([
    ['without active hours', { hours: undefined, at: '2026-06-01T03:00:00Z' }, 0],
    [
      'at the first minute',
      { hours: { start: '08:00', end: '22:00', timezone: 'UTC' }, at: '2026-06-01T08:00:00Z' },
      0,
    ],
    [
      'just before the first minute',
      { hours: { start: '08:00', end: '22:00', timezone: 'UTC' }, at: '2026-06-01T07:59:59Z' },
      1,
    ],
    ['in the last minute', { hours: { start: '08:00', end: '22:00', timezone: 'UTC' }, at: '2026-06-01T21:59:59Z' }, 0],
    [
      'at the end, which is exclusive',
      { hours: { start: '08:00', end: '22:00', timezone: 'UTC' }, at: '2026-06-01T22:00:00Z' },
      600,
    ],
    [
      'with the end at 24:00, in the last minute',
      { hours: { start: '08:00', end: '24:00', timezone: 'UTC' }, at: '2026-06-01T23:59:00Z' },
      0,
    ],
    [
      'with the end at 24:00, at midnight',
      { hours: { start: '08:00', end: '24:00', timezone: 'UTC' }, at: '2026-06-02T00:00:00Z' },
      480,
    ],
    [
      'past midnight, in the evening',
      { hours: { start: '22:00', end: '06:00', timezone: 'UTC' }, at: '2026-06-01T22:00:00Z' },
      0,
    ],
    [
      'past midnight, in the morning',
      { hours: { start: '22:00', end: '06:00', timezone: 'UTC' }, at: '2026-06-02T05:59:00Z' },
      0,
    ],
    [
      'past midnight, at its end',
      { hours: { start: '22:00', end: '06:00', timezone: 'UTC' }, at: '2026-06-02T06:00:00Z' },
      960,
    ],
    [
      'past midnight, ending at 00:00',
      { hours: { start: '22:00', end: '00:00', timezone: 'UTC' }, at: '2026-06-01T23:30:00Z' },
      0,
    ],
    [
      'in summer in Berlin',
      { hours: { start: '08:00', end: '22:00', timezone: berlin }, at: '2026-07-01T06:00:00Z' },
      0,
    ],
    [
      'in winter in Berlin',
      { hours: { start: '08:00', end: '22:00', timezone: berlin }, at: '2026-01-01T06:00:00Z' },
      60,
    ],
    [
      'in a zone with a half-hour offset',
      { hours: { start: '09:00', end: '17:00', timezone: 'Asia/Kolkata' }, at: '2026-06-01T03:30:00Z' },
      0,
    ],
    [
      'before the hour that is skipped',
      { hours: { start: '03:00', end: '22:00', timezone: berlin }, at: '2026-03-29T00:59:00Z' },
      61,
    ],
    [
      'after the hour that is skipped',
      { hours: { start: '03:00', end: '22:00', timezone: berlin }, at: '2026-03-29T01:00:00Z' },
      0,
    ],
    [
      'in the first pass of a repeated hour',
      { hours: { start: '01:30', end: '02:00', timezone: newYork }, at: '2026-11-01T05:30:00Z' },
      0,
    ],
    [
      'in the second pass of a repeated hour',
      { hours: { start: '01:30', end: '02:00', timezone: newYork }, at: '2026-11-01T06:30:00Z' },
      0,
    ],
  ] as const)('%s', (_case, { hours, at }, minutes) => {
    expect(minutesUntilActive(hours, new Date(at))).toBe(minutes)
  })
})
