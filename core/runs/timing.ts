// When a schedule fires: reads what a tool says, and works out the next time.
import { parseDuration } from '../config/duration.ts'
import { InputError, type ScheduleTiming } from '../plugin.ts'
import type { Timestamp, Timing } from '../store/store.ts'

/** The shortest time between two firings of `every`, in milliseconds. */
const shortestEveryMs = 10_000

/** Throws `InputError`, in a sentence that says what would be right. */
export function readTiming(timing: ScheduleTiming, now: Timestamp): Timing {
  if ('cron' in timing) return { kind: 'cron', expression: timing.cron.trim(), timezone: timing.timezone?.trim() }
  if ('every' in timing) return { kind: 'every', ms: readEvery(timing.every.trim()) }
  return { kind: 'at', at: readAt(timing.at.trim(), now) }
}

function readEvery(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms >= shortestEveryMs) return ms
  throw new InputError(
    `every must be a duration of ${shortestEveryMs / 1000} seconds to 24 days, such as "30m" or "1h30m".`,
  )
}

/** A time without a zone would mean another moment on another machine. */
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

function readAt(text: string, now: Timestamp): Timestamp {
  const ms = parseDuration(text)
  const at = ms === undefined ? (isoTime.test(text) ? Date.parse(text) : Number.NaN) : now + ms
  if (Number.isNaN(at))
    throw new InputError(
      'at must be a time with its zone, such as "2030-01-31T09:00:00+01:00", or a duration from now, such as "20m".',
    )
  if (at < now) throw new InputError('at lies in the past.')
  return at
}

interface Moment {
  /** The time for which it fires now, or from which it counts. */
  due: Timestamp
  now: Timestamp
}

/**
 * The first time after now; undefined: there is none.
 * Throws `InputError` for a cron expression or a time zone that means nothing.
 */
export async function nextFiring(timing: Timing, { due, now }: Moment): Promise<Timestamp | undefined> {
  if (timing.kind === 'at') return timing.at > due ? timing.at : undefined
  // Counted from when it was due, so that it does not drift.
  if (timing.kind === 'every') return due + timing.ms * (Math.floor(Math.max(0, now - due) / timing.ms) + 1)
  // Loaded by the first schedule, so that starting never waits for it.
  const { Cron } = await import('croner')
  try {
    const { expression, timezone } = timing
    return new Cron(expression, { mode: '5-part', paused: true, ...(timezone && { timezone }) })
      .nextRun(new Date(now))
      ?.getTime()
  } catch (cause) {
    throw new InputError(
      'cron must be five fields (minute, hour, day, month, weekday) such as "0 9 * * 1-5", and timezone an IANA name such as "Europe/Berlin".',
      {
        cause,
      },
    )
  }
}

/** A time of day that the clock comes to again within this time is the same one: clocks are corrected by little. */
const sameTimeMs = 60 * 60_000

interface Planned extends Pick<Moment, 'now'> {
  nextAt: Timestamp
  /** When it fired last. */
  lastAt: Timestamp | null
}

/**
 * The next time as the clock says now; earlier than planned only where the clock was set back, and the schedule would
 * be silent until it has caught up.
 */
export async function replanFiring(timing: Timing, { nextAt, lastAt, now }: Planned): Promise<Timestamp> {
  if (timing.kind === 'at') return nextAt
  if (timing.kind === 'every') return Math.min(nextAt, now + timing.ms)
  const next = await nextFiring(timing, { due: now, now })
  const isRepeated = lastAt !== null && next === lastAt && lastAt - now < sameTimeMs
  const later = isRepeated ? await nextFiring(timing, { due: lastAt, now: lastAt }) : next
  return Math.min(nextAt, later ?? nextAt)
}

/** As a tool would say it. */
export function viewTiming(timing: Timing): ScheduleTiming {
  if (timing.kind === 'cron') return { cron: timing.expression, ...(timing.timezone && { timezone: timing.timezone }) }
  return timing.kind === 'every' ? { every: durationText(timing.ms) } : { at: new Date(timing.at).toISOString() }
}

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  return parts.flatMap(([count, unit]) => (count > 0 ? [`${count}${unit}`] : [])).join('')
}
