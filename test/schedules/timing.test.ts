// Tests when a schedule fires next.
import { describe, expect, it } from 'vitest'
import { computeNextFiring, parseTiming } from '../../core/schedules/timing.ts'

describe('computeNextFiring', () => {
  const berlin = { kind: 'cron', expression: '30 2 * * *', timezone: 'Europe/Berlin' } as const
  const next = async (timing: Parameters<typeof computeNextFiring>[0], from: string) => {
    const now = Date.parse(from)
    return new Date((await computeNextFiring(timing, { due: now, now }))!).toISOString()
  }

  it('follows daylight saving in the time zone', async () => {
    expect(await next(berlin, '2026-03-28T00:00:00Z')).toBe('2026-03-28T01:30:00.000Z')
    expect(await next(berlin, '2026-03-30T00:00:00Z')).toBe('2026-03-30T00:30:00.000Z')
    expect(await next(berlin, '2026-10-25T23:00:00Z')).toBe('2026-10-26T01:30:00.000Z')
  })

  it('does not drift for `every`', async () => {
    const hourly = { kind: 'every', ms: 3_600_000 } as const
    expect(await computeNextFiring(hourly, { due: 1000, now: 1001 })).toBe(3_601_000)
    expect(await computeNextFiring(hourly, { due: 1000, now: 3_601_000 })).toBe(7_201_000)
    expect(await computeNextFiring(hourly, { due: 1000, now: 0 })).toBe(3_601_000)
  })

  it('returns undefined for a time that has passed', async () => {
    expect(await computeNextFiring({ kind: 'at', at: 1000 }, { due: 1000, now: 5000 })).toBeUndefined()
    expect(parseTiming({ at: '1m30s' }, 1000)).toEqual({ kind: 'at', at: 91_000 })
  })
})

it('refuses a day that does not exist, and takes the last day of a month', () => {
  for (const at of ['2030-02-30T09:00:00Z', '2030-02-29T09:00Z', '2030-04-31T09:00:00+02:00', '2030-13-01T09:00Z'])
    expect(() => parseTiming({ at }, 0)).toThrow(/^at must be a time with a zone/)
  for (const at of ['2028-02-29T23:00:00-05:00', '2030-12-31T00:30:00+14:00'])
    expect(parseTiming({ at }, 0)).toEqual({ kind: 'at', at: Date.parse(at) })
})
