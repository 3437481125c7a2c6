// The text of one event from GitHub, and the function that writes it.
import type { Payload } from './payload.ts'

export interface EventText {
  /** A sentence without its end: who did what. */
  head: string
  details?: readonly (string | false | null | undefined)[]
  link?: string | null | undefined
  text?: string | null | undefined
  /** The number of the issue, pull request or discussion that it is about. */
  number?: number | null | undefined
}

/** Null: nobody needs to hear of it. */
export type EventHandler = (payload: Payload, who: string) => EventText | null

export const short = (sha: string | null | undefined): string => sha?.slice(0, 7) ?? ''
