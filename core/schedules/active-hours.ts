// When the periodic check may speak: a daily window in a time zone.
import type { HeartbeatConfig } from '../agents/agents.ts'

type ActiveHours = NonNullable<HeartbeatConfig['activeHours']>

const dayMinutes = 24 * 60

/** Minutes until the window is open; 0 when it is open now, or when there is no window. */
export function minutesUntilActive(hours: ActiveHours | undefined, at: Date): number {
  if (!hours) return 0
  const start = minutesOf(hours.start)
  const end = minutesOf(hours.end)
  const now = minuteOfDay(at, hours.timezone)
  // A window whose end lies before its start wraps past midnight.
  const open = start < end ? now >= start && now < end : now >= start || now < end
  return open ? 0 : (start - now + dayMinutes) % dayMinutes
}

function minutesOf(clock: string): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number)
  return hours * 60 + minutes
}

function minuteOfDay(at: Date, timeZone: string | undefined): number {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at)
  return minutesOf(clock)
}
