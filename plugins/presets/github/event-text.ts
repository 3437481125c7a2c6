// The text of one GitHub event, the type of the functions that write it, and the names of what it is about.
import { quote, words } from 'svc-gateway/kit'
import type { Payload, Subject } from './payload.ts'

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

export const mostListed = 10

export const short = (sha: string | null | undefined): string => sha?.slice(0, 7) ?? ''

export const plain = (name: string | null | undefined): string => name?.trim().replaceAll(/[_\s]+/g, ' ') ?? ''

/** The name of a branch or tag. */
export const refName = (ref: string | null | undefined): string => ref?.replace(/^refs\/(?:heads|tags)\//, '') ?? ''

/** An issue, pull request or discussion in words: `issue #7 "The cart is empty"`. */
export const nameOf = (
  subject: Subject | null | undefined,
  kind = subject?.pull_request ? 'pull request' : 'issue',
): string => words(kind, subject?.number ? `#${subject.number}` : '', quote(subject?.title))
