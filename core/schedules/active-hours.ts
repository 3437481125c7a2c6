// Computes whether an agent is in its active hours: a daily window in a time zone, in which heartbeats run.
import type { HeartbeatConfig } from '../agents/agents.ts'

type ActiveHours = NonNullable<HeartbeatConfig['activeHours']>

const dayMinutes = 24 * 60

/** Returns the minutes until the window opens, or 0 if it is open or there is no window. */
export function minutesUntilActive(hours: ActiveHours | undefined, at: Date): number {
  if (!hours) return 0
  const start = parseMinutes(hours.start)
  const end = parseMinutes(hours.end)
  const now = computeMinuteOfDay(at, hours.timezone)
  // A window that ends before it starts wraps past midnight.
  const isOpen = start < end ? now >= start && now < end : now >= start || now < end
  return isOpen ? 0 : (start - now + dayMinutes) % dayMinutes
}

function parseMinutes(clock: string): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number)
  return hours * 60 + minutes
}

function computeMinuteOfDay(at: Date, timeZone: string | undefined): number {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at)
  return parseMinutes(clock)
}
