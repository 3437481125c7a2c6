// The text of one GitLab event, the type of the functions that write it, and the words that they share.
import { entryOf, type EventText as Message, plain, quote, words } from 'svc-gateway/kit'
import type { Payload } from './payload.ts'

export interface EventText extends Message {
  /** What the session is about, within the project: `!7`, `#7` or `:job:5`. */
  subject?: string | undefined
  /** The project or group, if it is not in `project`. */
  where?: string | null | undefined
}

/** Returns `null` to skip the event. */
export type EventHandler = (payload: Payload, who: string) => EventText | null

export const mostListed = 10

const pastTenses: Readonly<Record<string, string>> = {
  open: 'opened',
  close: 'closed',
  reopen: 'reopened',
  merge: 'merged',
  approved: 'approved',
  unapproved: 'took back the approval of',
  // Of one of several required approvals:
  approval: 'approved',
  unapproval: 'took back the approval of',
  create: 'created',
  update: 'changed',
  delete: 'deleted',
}

export const pastTense = (action: string | null | undefined): string =>
  entryOf(pastTenses, action) ?? (plain(action) || 'changed')

/** `merge request !9 "Fix the cart"` */
export const numbered = (
  kind: string,
  { mark = '#', iid, title }: { mark?: string; iid?: number | null | undefined; title?: string | null | undefined },
): string => words(kind, iid ? `${mark}${iid}` : '', quote(title))

/** GitLab writes a missing commit as zeros. */
export const isNothing = (sha: string | null | undefined): boolean => /^0+$/.test(sha ?? '')

/** The day of a time, which GitLab writes in several formats. */
export const dayOf = (time: string | null | undefined): string => time?.slice(0, 10) ?? ''
