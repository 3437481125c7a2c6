// Who wants to use a tool, and in which session: all that the policy looks at.
import type { Starter } from '../store/run-spec.ts'

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
  /** True: a webhook stands at the beginning of the run that calls. */
  fromHook?: boolean | undefined
  /** Those who had the calling run started, by a tool: what one of them may not use, it may not either. */
  starters?: readonly Starter[] | undefined
}
