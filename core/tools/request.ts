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
  /** The name of the client that calls, which may not approve the call. */
  askedBy: string
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
  async function invokeOrAsk(call: ToolCall, askedBy: string): Promise<Json> {
    try {
      return await invoke(call)
    } catch (error) {
      if (!(error instanceof ApprovalRequiredError)) throw error
      const { tool, subject, signal } = call
      const { agentId, sessionKey } = subject
      const args = wellFormed(call.args as Json)
      const asked = { askedBy, tool, args, agentId, sessionKey, reason: error.reason, signal }
      const { approved, reportEnd } = await waitForApproval(asked)
      return await invoke({ ...call, args, approved }).then(
        (result) => (reportEnd('succeeded'), result),
        (failure: unknown) => {
          reportEnd('failed')
          throw failure
        },
      )
    }
  }

  return async (body, subject, { principal, via, address, signal }) => {
    const tool = body.tool.trim()
    const declared = registry.find(tool)?.tool
    const args = mergeAction(body, () => declared?.args ?? {})
    const source = clientSource(principal, { via, address })
    // A client of the Model Context Protocol is a model, so a person is asked, whatever the role of its credential.
    const isModel = via === 'mcp'
    const mayApprove = !isModel && principal.role !== 'viewer' && principal.content
    const call = { tool, args, subject, source, signal, mayApprove }
    const change = { action: 'tool.invoke', target: tool, agentId: subject.agentId }
    try {
      const result = await (isModel ? invokeOrAsk(call, principal.name) : invoke(call))
      if (!onlyReads(declared)) await audit.done(source, change)
      return { ok: true, result }
    } catch (error) {
      audit.failed(source, change, error)
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
