// The text of one GitHub event, and the type of the functions that write it.
import type { Payload } from './payload.ts'

export interface EventText {
  /** Who did what, without a full stop. */
  head: string
  details?: readonly (string | false | null | undefined)[]
  link?: string | null | undefined
  text?: string | null | undefined
  /** The number of the issue, pull request or discussion. */
  number?: number | null | undefined
}

/** Returns `null` to skip the event. */
export type EventHandler = (payload: Payload, who: string) => EventText | null

export const short = (sha: string | null | undefined): string => sha?.slice(0, 7) ?? ''
