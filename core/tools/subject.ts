// The subject of the tool policy: who wants to use a tool, and in which session.
import type { Initiator } from '../store/run-spec.ts'

export interface Subject extends Initiator {
  /** True: text from outside started the calling run. */
  fromHook?: boolean | undefined
  /** Run ids whose effects the rule of two counts. Absent: the rule does not apply. */
  scopes?: readonly string[] | undefined
  /** Who had the calling run started by a tool. The run may use only what each of them may use. */
  initiators?: readonly Initiator[] | undefined
  /** What texts that the turn can see take away. Absent: nothing. */
  narrowing?: Narrowing | undefined
  /** True: a person has accepted, for this turn, what its texts would take away. */
  isLifted?: boolean | undefined
}

/** The turn may do no more than each author of a text that its model reads. */
export interface Narrowing {
  /** The sources of its texts from outside, which the rule of two counts. */
  sources: readonly string[]
  /** Those of them that take tools away. If there are any, the turn may do no more than a webhook's run. */
  outside: readonly string[]
  authors: readonly Initiator[]
  /** True: a tool of the turn has read something private. */
  hasReadPrivate: boolean
  /** What happens to a call that only the narrowing forbids: it is denied, or a person is asked. */
  mode: 'deny' | 'ask'
}
