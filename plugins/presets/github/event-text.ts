// The text of one GitHub event, the type of the functions that write it, and the names of what it is about.
import { type EventText as Message, quote, words } from 'svc-gateway/kit'
import type { Payload, Subject } from './payload.ts'

export interface EventText extends Message {
  /** The number of the issue, pull request or discussion. */
  number?: number | null | undefined
  /** The account that an event without a repository is about. */
  account?: string | null | undefined
}

/** Returns `null` to skip the event. */
export type EventHandler = (payload: Payload, who: string) => EventText | null

export const mostListed = 10

/** An issue, pull request or discussion in words: `issue #7 "The cart is empty"`. */
export const nameOf = (
  subject: Subject | null | undefined,
  kind = subject?.pull_request ? 'pull request' : 'issue',
): string => words(kind, subject?.number ? `#${subject.number}` : '', quote(subject?.title))
