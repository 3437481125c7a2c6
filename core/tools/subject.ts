// The subject of the tool policy: who wants to use a tool, and in which session.
import type { Initiator } from '../store/run-spec.ts'

export interface Subject extends Initiator {
  /** True: the calling run holds external content, because a webhook started it or its turn renders one's events. */
  fromHook?: boolean | undefined
  /** Session keys and run ids whose effects the rule of two counts. Absent: the rule does not apply. */
  scopes?: readonly string[] | undefined
  /** Who had the calling run started by a tool. The run may use only what each of them may use. */
  initiators?: readonly Initiator[] | undefined
}
