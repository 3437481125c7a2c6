// A client's request to run a tool, over HTTP, the WebSocket or MCP.
import { knownKeys } from '../config/walk.ts'
import type { Principal } from '../http/access.ts'
import { type AuditLog, clientSource } from '../store/audit-log.ts'
import type { AuditSource } from '../store/store.ts'
import type { ToolRegistry } from './registry.ts'
import type { Json, Tool } from '../plugin/plugin.ts'
import { wellFormed } from '../well-formed.ts'
import { type ApprovalReason, ApprovalRequiredError } from './approval-required.ts'
import type { Invoke, ToolCall } from './invoke.ts'
import type { InvokeBody, InvokeReply } from './schemas.ts'
import type { Subject } from './subject.ts'

/** Who calls, and how. */
export interface Caller extends Pick<AuditSource, 'via' | 'address'> {
  principal: Principal
  /** Ends the call. */
  signal?: AbortSignal
}

/** A call that a person must approve before it is made. */
export interface AskingCall extends Pick<Subject, 'agentId' | 'sessionKey'> {
  tool: string
  args: Json
  reason: ApprovalReason
  signal: AbortSignal | undefined
}

/** Asks, and resolves when the call is approved. Throws `approval_required` with the reason if it is not. */
export type WaitForApproval = (call: AskingCall) => Promise<ApprovedCall>

interface ApprovedCall {
  approved: { beyondRuleOfTwo: boolean }
  /** Tells the approver how the call has ended. Call it once. */
  reportEnd(status: 'succeeded' | 'failed'): void
}

export type ToolRequest = (body: InvokeBody, subject: Subject, caller: Caller) => Promise<InvokeReply>

export function createToolRequest({
  registry,
  invoke,
  audit,
  waitForApproval,
}: {
  registry: Pick<ToolRegistry, 'find'>
  invoke: Invoke
  audit: Pick<AuditLog, 'done' | 'failed'>
  waitForApproval: WaitForApproval
}): ToolRequest {
  /** A client of the Model Context Protocol is a model, so a person is asked, whatever the role of its credential. */
  async function invokeOrAsk(call: ToolCall, { via, principal }: Caller): Promise<Json> {
    const mayApprove = via !== 'mcp' && principal.role !== 'viewer' && principal.content
    const asking = { ...call, subject: { ...call.subject, mayApprove } }
    try {
      return await invoke(asking)
    } catch (error) {
      if (!(error instanceof ApprovalRequiredError) || via !== 'mcp') throw error
      const { tool, subject, signal } = call
      const { agentId, sessionKey } = subject
      const args = wellFormed(call.args as Json)
      const { approved, reportEnd } = await waitForApproval({
        tool,
        args,
        agentId,
        sessionKey,
        reason: error.reason,
        signal,
      })
      return await invoke({ ...asking, args, approved }).then(
        (result) => (reportEnd('succeeded'), result),
        (failure: unknown) => {
          reportEnd('failed')
          throw failure
        },
      )
    }
  }

  return async (body, subject, caller) => {
    const { principal, signal, ...origin } = caller
    const tool = body.tool.trim()
    const declared = registry.find(tool)?.tool
    const args = mergeAction(body, () => declared?.args ?? {})
    const source = clientSource(principal, origin)
    const call = { action: 'tool.invoke', target: tool, agentId: subject.agentId }
    try {
      const result = await invokeOrAsk({ tool, args, subject, source, signal }, caller)
      if (!onlyReads(declared)) await audit.done(source, call)
      return { ok: true, result }
    } catch (error) {
      audit.failed(source, call, error)
      throw error
    }
  }
}

/** Like a route that only reads, such a call is not recorded, and needs no commit. */
const onlyReads = (tool: Pick<Tool, 'changes' | 'effects'> | undefined): boolean =>
  tool?.changes === 'nothing' && Array.isArray(tool.effects) && !tool.effects.includes('sends')

/** Adds `action` to the arguments if the tool has such an argument and the client has not set it. */
function mergeAction({ action, args = {} }: InvokeBody, schemaOf: () => object): Record<string, unknown> {
  if (action === undefined || Object.hasOwn(args, 'action') || !knownKeys(schemaOf(), []).includes('action'))
    return args
  return { ...args, action }
}
