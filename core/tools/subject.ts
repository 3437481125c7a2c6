// Who wants to use a tool, and in which session: all that the policy looks at.
import type { Initiator } from '../store/run-spec.ts'

export interface Subject {
  /** An agent in its turn, or a client over HTTP. */
  caller: 'agent' | 'http'
  agentId: string
  /** `agent:<agentId>:<key>`, or `global`. */
  sessionKey: string
  /** `<provider>/<model>` of the turn that calls; absent: the agent's own. */
  model?: string | undefined
  /** Channel and account that the call has to do with; absent: what the session key says. */
  channel?: string | undefined
  accountId?: string | undefined
  /**
   * True: the run that calls holds external content: a webhook started it, or its turn renders what one has brought.
   */
  fromHook?: boolean | undefined
  /**
   * Session keys and ids of runs to which the rule of two counts what the tool does. Absent: the rule does not hold.
   */
  scopes?: readonly string[] | undefined
  /** Those who had the calling run started, by a tool: what one of them may not use, it may not either. */
  initiators?: readonly Initiator[] | undefined
}
