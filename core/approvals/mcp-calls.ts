// Lets a call over MCP, which no run makes, wait for its approval, up to a deadline.
import { describeError, GatewayError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { StoredApproval } from '../store/store.ts'
import type { WaitForApproval } from '../tools/request.ts'
import type { Approvals } from './approvals.ts'
import { renderDenial } from './question.ts'

interface ApprovalWaitDeps {
  approvals: Pick<Approvals, 'ask' | 'waitForEnd' | 'withdraw' | 'reportEnd'>
  maxWaitMs: number
  log: Log
}

export function createApprovalWait({ approvals, maxWaitMs, log }: ApprovalWaitDeps): WaitForApproval {
  return async ({ signal, ...call }) => {
    signal?.throwIfAborted()
    const origin = `client of /mcp, session ${call.sessionKey}`
    const id = await approvals.ask({ ...call, runId: '', step: 0, origin, keepsContent: true, maxWaitMs })
    const approval = await untilAnswered(id)
    if (approval?.status === 'approved')
      return { approved: approval, reportEnd: (status) => reportEnd(approval, status) }
    throw new GatewayError('approval_required', approval ? renderDenial(approval) : undefined)

    async function untilAnswered(asked: string): Promise<StoredApproval | undefined> {
      try {
        return await approvals.waitForEnd(asked, signal)
      } catch (error) {
        // The client has disconnected, so the call is not made.
        await approvals.withdraw(asked)
        throw error
      }
    }
  }

  function reportEnd(approval: StoredApproval, status: 'succeeded' | 'failed'): void {
    approvals.reportEnd(approval, { status }).catch((error: unknown) => {
      log.warn(
        { approvalId: approval.id, ...describeError(error) },
        'the message to the approver about the end of a call could not be stored',
      )
    })
  }
}
