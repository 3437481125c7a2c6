// The subject of the tool policy: who wants to use a tool, and in which session.
import type { Initiator } from '../store/run-spec.ts'

export interface Subject {
  /** An agent in its turn, or a client over HTTP. */
  caller: 'agent' | 'http'
  agentId: string
  /** `agent:<agentId>:<key>`, or `global`. */
  sessionKey: string
  /** `<provider>/<model>` of the calling turn. Default: the agent's model. */
  model?: string | undefined
  /** Channel and account to which the call relates. Default: those of the session key. */
  channel?: string | undefined
  accountId?: string | undefined
  /** True: the calling run holds external content, because a webhook started it or its turn renders one's events. */
  fromHook?: boolean | undefined
  /** Session keys and run ids whose effects the rule of two counts. Absent: the rule does not apply. */
  scopes?: readonly string[] | undefined
  /** Who had the calling run started by a tool. The run may use only what each of them may use. */
  initiators?: readonly Initiator[] | undefined
}
