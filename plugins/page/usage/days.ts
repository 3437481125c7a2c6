// Spreads a report of usage over its days, also over those without usage.
import type { Reply } from '../api/client.ts'

type Report = Reply<'GET /api/usage'>

export interface Days {
  /** The midnights, in the zone of the reader, which is where the plot names the days. */
  times: number[]
  values: number[]
}

const dayPattern = /^(\d{4})-(\d\d)-(\d\d)$/

/** Expects a report per day that begins with a day. The last day is today, in the time zone of the report. */
export function sumDays({ since, timezone, items }: Report, valueOf: (item: Report['items'][number]) => number): Days {
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: timezone }).format(Date.now())
  const last = items.at(-1)?.period ?? today
  const values = new Map(items.map((item) => [item.period, valueOf(item)]))
  const days = listDays(since, last > today ? last : today)
  return { times: days.map(midnightOf), values: days.map((day) => values.get(day) ?? 0) }
}

function listDays(first: string, last: string): string[] {
  const days: string[] = []
  for (let at = Date.parse(first); at <= Date.parse(last); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days
}

/** In Unix seconds. */
function midnightOf(day: string): number {
  const [, year = 0, month = 0, date = 0] = dayPattern.exec(day)?.map(Number) ?? []
  return new Date(year, month - 1, date).getTime() / 1_000
}
