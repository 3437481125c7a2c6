// Parses the timing of a schedule and computes when it fires next.
import { parseDuration } from '../kit/duration.ts'
import { InputError, type ScheduleTiming } from '../plugin/plugin.ts'
import type { Timestamp, Timing } from '../store/store.ts'

/** The shortest time between two firings of `every`, in milliseconds. */
const minEveryMs = 10_000

/** Throws `InputError` with a sentence that shows the expected form. */
export function parseTiming(timing: ScheduleTiming, now: Timestamp): Timing {
  if ('cron' in timing) return { kind: 'cron', expression: timing.cron.trim(), timezone: timing.timezone?.trim() }
  if ('every' in timing) return { kind: 'every', ms: parseEvery(timing.every.trim()) }
  return { kind: 'at', at: parseAt(timing.at.trim(), now) }
}

function parseEvery(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms >= minEveryMs) return ms
  throw new InputError(`every must be a duration of ${minEveryMs / 1000} seconds to 24 days, such as "30m" or "1h30m".`)
}

/** The zone is required: without it, the time would depend on the machine. */
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** `Date.parse` reads 30 February as 1 or 2 March. */
function isTime(text: string): boolean {
  const [day = ''] = text.split('T')
  const start = new Date(`${day}T00:00Z`)
  return isoTime.test(text) && !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day)
}

function parseAt(text: string, now: Timestamp): Timestamp {
  const ms = parseDuration(text)
  const at = ms === undefined ? (isTime(text) ? Date.parse(text) : Number.NaN) : now + ms
  if (Number.isNaN(at))
    throw new InputError(
      'at must be a time with a zone, such as "2030-01-31T09:00:00+01:00", or a duration from now, such as "20m".',
    )
  if (at < now) throw new InputError('at is in the past.')
  return at
}

interface Moment {
  /** When the schedule was due, or the time to count from. */
  due: Timestamp
  now: Timestamp
}

/**
 * Returns the first time after now, or undefined if there is none.
 * Throws `InputError` for an invalid cron expression or time zone.
 */
export async function computeNextFiring(timing: Timing, { due, now }: Moment): Promise<Timestamp | undefined> {
  if (timing.kind === 'at') return timing.at > due ? timing.at : undefined
  // Counts from the time when it was due, so that it does not drift.
  if (timing.kind === 'every') return due + timing.ms * (Math.floor(Math.max(0, now - due) / timing.ms) + 1)
  // Imported by the first schedule, so that the start of the gateway does not wait for it.
  const { Cron } = await import('croner')
  try {
    const { expression, timezone } = timing
    return new Cron(expression, { mode: '5-part', paused: true, ...(timezone && { timezone }) })
      .nextRun(new Date(now))
      ?.getTime()
  } catch (cause) {
    throw new InputError(
      'cron must be five fields (minute, hour, day, month, weekday) such as "0 9 * * 1-5", ' +
        'and timezone an IANA name such as "Europe/Berlin".',
      { cause },
    )
  }
}

/** A firing that the clock reaches again within this time is the same one: clock corrections are small. */
const sameFiringMs = 60 * 60_000

interface Planned extends Pick<Moment, 'now'> {
  nextAt: Timestamp
  /** When the schedule last fired. */
  lastAt: Timestamp | null
}

/**
 * Returns the next time to fire under the current clock. It is earlier than planned only if the clock was set back:
 * otherwise the schedule would not fire until the clock has caught up.
 */
export async function replanFiring(timing: Timing, { nextAt, lastAt, now }: Planned): Promise<Timestamp> {
  if (timing.kind === 'at') return nextAt
  if (timing.kind === 'every') return Math.min(nextAt, now + timing.ms)
  const next = await computeNextFiring(timing, { due: now, now })
  const isRepeated = lastAt !== null && next === lastAt && lastAt - now < sameFiringMs
  const later = isRepeated ? await computeNextFiring(timing, { due: lastAt, now: lastAt }) : next
  return Math.min(nextAt, later ?? nextAt)
}

/** Converts a stored timing into the form that tools and the API use. */
export function viewTiming(timing: Timing): ScheduleTiming {
  if (timing.kind === 'cron') return { cron: timing.expression, ...(timing.timezone && { timezone: timing.timezone }) }
  return timing.kind === 'every' ? { every: formatDuration(timing.ms) } : { at: new Date(timing.at).toISOString() }
}

function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  return parts.flatMap(([count, unit]) => (count > 0 ? [`${count}${unit}`] : [])).join('')
}
