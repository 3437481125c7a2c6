// Invokes a tool: checks policy and arguments, runs it within its deadline, and returns its result as plain JSON.
import { GatewayError } from '../errors.ts'
import { isInputError } from '../plugin/errors.ts'
import { readJson } from '../json.ts'
import { wellFormedJson } from '../well-formed.ts'
import type { Json, Log, Tool, ToolContext, ToolApi, ToolEffect, ToolText } from '../plugin/plugin.ts'
import type { CallSources } from './turn-sources.ts'
import type { AuditSource } from '../store/store.ts'
import { type TraceContext, traceIdOf } from '../telemetry/trace-context.ts'
import { describeToolFailure } from '../tool-failure.ts'
import { allProblems, dotted, listProblems } from '../typebox.ts'
import { type ApprovalReason, ApprovalRequiredError } from './approval-required.ts'
import { areDescriptions } from './descriptions.ts'
import { externalTexts, fromTool } from './external-texts.ts'
import type { ToolRegistry, RegisteredTool } from './registry.ts'
import { withDeadline } from '../deadline.ts'
import type { Policy } from './policy.ts'
import type { RuleOfTwo } from './rule-of-two.ts'
import type { Subject } from './subject.ts'

export interface ToolCall {
  tool: string
  args: unknown
  subject: Subject
  runId?: string | undefined
  /** The client that calls, for the audit log. Absent: an agent calls. */
  source?: AuditSource | undefined
  /** Its span, if the run is traced. */
  trace?: TraceContext | undefined
  /** Ends the call; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** True: the caller is a client whose role may approve calls, so its own call needs no approval. */
  mayApprove?: boolean | undefined
  /** Present: a person has approved exactly this call. */
  approved?: { beyondRuleOfTwo: boolean } | undefined
  /** Where the texts of the calling turn came from. Absent: a client calls, and not an agent. */
  sources?: CallSources | undefined
}

/**
 * Runs a tool and returns its result.
 * Throws `tool_not_available`, `tool_withheld`, `approval_required` (an `ApprovalRequiredError`), `invalid_arguments`,
 * `tool_timeout`, or `tool_failed` with the tool's own error as its cause.
 */
export type Invoke = (call: ToolCall) => Promise<Json>

export interface InvokeDeps {
  registry: Pick<ToolRegistry, 'find'>
  /** A tool that is not allowed is reported as one that does not exist. */
  policy: Pick<Policy, 'judge' | 'isTrusted'>
  ruleOfTwo: Pick<RuleOfTwo, 'admit' | 'needsApproval'>
  /** The tool API, on behalf of the caller. */
  toolApi: (call: ToolCall) => ToolApi
  timeoutMs: number
  log: Log
}

export function createInvoke(deps: InvokeDeps): Invoke {
  return async (call) => {
    const entry = deps.registry.find(call.tool)
    const { verdict, rule = '', isNarrowed } = deps.policy.judge(call.subject, call.tool)
    if (!entry || verdict === 'deny') throw new GatewayError('tool_not_available')
    const needsApproval = verdict === 'ask' && !call.approved && !call.mayApprove
    try {
      checkArguments(entry, call.args)
      const result = toJsonResult(
        await execute(deps, { entry, call, askedBy: needsApproval ? { rule, isNarrowed } : undefined }),
      )
      await addResult(deps, { entry, call })
      return result
    } catch (error) {
      // The caller reads its message, which may quote what a service has answered.
      if (isInputError(error)) await addResult(deps, { entry, call })
      throw toCallerError(error, { deps, entry, call })
    }
  }
}

/** The turn that reads a result from outside may do less from now on. */
async function addResult({ policy }: InvokeDeps, { entry, call }: Pick<CheckedCall, 'entry' | 'call'>): Promise<void> {
  const { tool } = entry
  if (!call.sources || policy.isTrusted(entry) || findExternalTexts(tool, call.args) === 'none') return
  await call.sources.add(fromTool(tool.name))
}

/** Of arguments that a tool refuses, it cannot say it. */
function findExternalTexts(tool: Tool, args: unknown): ToolText {
  try {
    return externalTexts(tool, args)
  } catch {
    return 'result'
  }
}

function checkArguments(entry: RegisteredTool, args: unknown): void {
  const check = entry.check()
  if (check.fits(args)) return
  const problems = listProblems(entry.tool.args, args).map(({ keys, problem }) => ({
    path: dotted(['args', ...keys]),
    keys,
    problem,
  }))
  throw new GatewayError('invalid_arguments', `${allProblems(problems)}.`)
}

interface CheckedCall {
  entry: RegisteredTool
  call: ToolCall
  /** The rule of the policy because of which a person must approve the call first. */
  askedBy: Pick<ApprovalReason, 'rule' | 'isNarrowed'> | undefined
}

function execute(
  { toolApi, timeoutMs, ruleOfTwo }: InvokeDeps,
  { entry, call, askedBy }: CheckedCall,
): Promise<unknown> {
  const { tool, context } = entry
  const signals = call.signal ? [call.signal, context.signal] : [context.signal]
  return withDeadline({ signals, ms: timeoutMs, reason: () => new GatewayError('tool_timeout') }, (signal) => {
    const { caller, agentId, sessionKey, channel, accountId } = call.subject
    const identity = { caller, agentId, sessionKey, channel, accountId, ...(call.runId && { runId: call.runId }) }
    const toolContext: ToolContext = { ...context, ...identity, ...toolApi(call), signal }
    if (askedBy !== undefined) return refuseUnapproved(ruleOfTwo.needsApproval(entry, call, toolContext), askedBy)
    const run = () => (tool as Tool<unknown>).execute(call.args, toolContext)
    const admit = async () => await notePrivateRead(call, await ruleOfTwo.admit(entry, call, toolContext))
    return call.subject.scopes ? runAdmitted(admit(), { signal, run }) : run()
  })
}

/** Then the descriptions of a service no longer leave its own tools to the turn. */
async function notePrivateRead({ sources, subject }: ToolCall, uses: readonly ToolEffect[]): Promise<void> {
  if (!uses.includes('reads-private') || !areDescriptions(subject.narrowing?.sources ?? [])) return
  await sources?.add({ outside: [], authors: [], isPrivate: true })
}

/** A call that nobody may approve, because of the rule of two, is refused instead. */
async function refuseUnapproved(
  beyondRuleOfTwo: Promise<boolean>,
  reason: NonNullable<CheckedCall['askedBy']>,
): Promise<never> {
  throw new ApprovalRequiredError({ ...reason, beyondRuleOfTwo: await beyondRuleOfTwo })
}

/** Does not run a call that was aborted while the store recorded its effects. */
async function runAdmitted(
  admission: Promise<void>,
  { signal, run }: { signal: AbortSignal; run: () => unknown },
): Promise<unknown> {
  await admission
  signal.throwIfAborted()
  return run()
}

interface Failure {
  deps: InvokeDeps
  entry: RegisteredTool
  call: ToolCall
}

/** The error that the caller receives. The caller gets nothing of an error of the tool itself. */
function toCallerError(error: unknown, { deps, entry, call }: Failure): unknown {
  const { signal } = call
  if (signal?.aborted) return signal.reason
  if (entry.context.signal.aborted) return new GatewayError('shutting_down')
  if (error instanceof GatewayError && error.code !== 'tool_failed') {
    if (error.status >= 500)
      deps.log.warn({ tool: entry.tool.name, toolset: entry.toolset, type: error.code }, 'tool call failed')
    return error
  }
  if (isInputError(error)) return new GatewayError('invalid_arguments', error.message.toWellFormed(), { cause: error })
  const thrown = error instanceof GatewayError && error.cause !== undefined ? error.cause : error
  const { runId, trace } = call
  const fields = {
    tool: entry.tool.name,
    toolset: entry.toolset,
    ...(runId && { runId }),
    ...(trace && { traceId: traceIdOf(trace) }),
  }
  deps.log.error({ ...fields, ...describeToolFailure(thrown, { tool: entry.tool, args: call.args }) }, 'tool failed')
  return error instanceof GatewayError ? error : new GatewayError('tool_failed', undefined, { cause: error })
}

// ── Results ──────────────────────────────────────────────────────────────────────────────────────

/** Maximum length of a result's JSON. A longer result is refused, not cut. */
export const maxResultLength = 10 * 1024 * 1024

/** A JSON copy of the value; undefined becomes null. Throws `tool_failed` if it cannot be JSON or is too long. */
function toJsonResult(value: unknown): Json {
  if (value === undefined || value === null) return null
  const text = stringify(value)
  if (text.length > maxResultLength) throw failed(`its result is longer than ${maxResultLength} characters of JSON`)
  return wellFormedJson(text, readJson(text) as Json)
}

function stringify(value: unknown): string {
  try {
    const text: unknown = JSON.stringify(value)
    if (typeof text === 'string') return text
  } catch (cause) {
    throw failed('its result cannot be converted to JSON', cause)
  }
  throw failed(`its result is a ${typeof value}`)
}

const failed = (why: string, cause?: unknown) =>
  new GatewayError('tool_failed', undefined, { cause: new TypeError(`The tool failed: ${why}.`, { cause }) })
