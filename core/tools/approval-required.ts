// The error of a call that a person must approve. Nothing of the call has happened when it is thrown.
import { GatewayError } from '../errors.ts'

export interface ApprovalReason {
  /** The rule that asks, such as `tools.ask: "exec"`. */
  rule: string
  /** True: the approval also permits what the rule of two does not. */
  beyondRuleOfTwo: boolean
  /** True: only texts that the turn sees are the reason, so that a person may accept them for the whole turn. */
  isNarrowed?: boolean | undefined
}

export class ApprovalRequiredError extends GatewayError {
  readonly reason: ApprovalReason

  constructor(reason: ApprovalReason) {
    super(
      'approval_required',
      `A person must approve this call (${reason.rule}); use a credential that may approve, or ask for it in a session.`,
    )
    this.reason = reason
  }
}
