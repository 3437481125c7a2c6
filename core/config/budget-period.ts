// Parses the length of the window of a budget.
import { parseDuration } from '../kit/duration.ts'

export const dayMs = 24 * 60 * 60 * 1000

/** The shortest window. Usage is counted in steps of this length. */
const stepMs = 5 * 60 * 1000
const maxMs = 366 * dayMs

/** @returns milliseconds: whole days, or less than a day in whole steps; undefined for anything else */
export function parsePeriod(text: string): number | undefined {
  const ms = parseDuration(text, maxMs)
  if (ms === undefined || ms < stepMs) return undefined
  return ms % (ms < dayMs ? stepMs : dayMs) === 0 ? ms : undefined
}
