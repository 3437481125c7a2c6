// Lists, shows and answers the approvals of the running gateway.
import { showArgs } from 'svc-gateway/kit'
import type { CommandContext } from 'svc-gateway/plugin'

type Context = CommandContext<'control'>

/** An approval, as in the control API. */
interface Approval {
  id: string
  runId?: string
  step?: number
  agentId: string
  sessionKey: string
  tool: string
  args?: unknown
  argsLength?: number
  hidesSecrets?: boolean
  origin: string
  rule: string
  forTurn?: 'possible' | 'approved'
  status: string
  createdAt: string
  expiresAt: string
  answeredAt?: string
  answeredBy?: { role: string; via: string; id: string }
  reason?: string
}

interface Filter {
  status?: string
  run?: string
  limit: number
  json?: boolean
}

export async function listApprovals(
  { status = 'waiting', run, limit, json }: Filter,
  { control, terminal }: Context,
): Promise<void> {
  const query = { status: status === 'all' ? undefined : status, runId: run }
  await terminal.printList(control.list<Approval>('/api/approvals', query), {
    noun: 'approvals',
    limit,
    json,
    columns: {
      APPROVAL: ({ id }) => id,
      STATUS: (approval) => approval.status,
      UNTIL: ({ expiresAt, answeredAt }) => answeredAt ?? expiresAt,
      AGENT: ({ agentId }) => agentId,
      TOOL: ({ tool }) => tool,
      ARGUMENTS: ({ args, argsLength }) => summarize(args, argsLength),
      RULE: ({ rule }) => rule,
    },
  })
}

const maxLength = 60

function summarize(args: unknown, length: number | undefined): string {
  if (args === undefined) return length === undefined ? '' : `${length} characters`
  const text = JSON.stringify(args)
  return text.length <= maxLength ? text : `${text.slice(0, maxLength).toWellFormed()}… (${length} characters)`
}

interface One {
  id: string
  json?: boolean
}

export async function showApproval({ id, json }: One, { control, terminal }: Context): Promise<void> {
  const approval = await control.get<Approval>(`/api/approvals/${encodeURIComponent(id)}`)
  if (json) return terminal.printJson(approval)
  const { answeredBy: by } = approval
  terminal.printFields({
    approval: approval.id,
    status: approval.status,
    agent: approval.agentId,
    origin: approval.origin,
    run: approval.runId,
    step: approval.step === undefined ? undefined : String(approval.step),
    session: approval.sessionKey,
    'asked by': approval.rule,
    turn: approval.forTurn === 'possible' ? 'can be approved for the turn (--turn)' : approval.forTurn,
    asked: approval.createdAt,
    until: approval.expiresAt,
    answered: approval.answeredAt,
    by: by && `${by.role} ${by.id} (${by.via})`,
    reason: approval.reason,
    tool: approval.tool,
    arguments: approval.argsLength === undefined ? 'deleted' : `${approval.argsLength} characters of JSON`,
    hidden: approval.hidesSecrets ? 'secrets of the configuration, shown as [redacted]' : undefined,
  })
  if (approval.args === undefined) return
  terminal.print('')
  for (const [index, line] of showArgs(JSON.stringify(approval.args)).entries()) terminal.print(`${index + 1}| ${line}`)
}

export async function answerApproval(
  { id, verb, reason, turn, json }: One & { verb: 'approve' | 'deny'; reason?: string; turn?: boolean },
  { control, terminal }: Context,
): Promise<void> {
  const path = `/api/approvals/${encodeURIComponent(id)}/${verb}`
  const approval = await control.post<Approval>(path, verb === 'deny' ? { reason } : { for: turn ? 'turn' : 'call' })
  if (json) return terminal.printJson(approval)
  const { tool, agentId } = approval
  const done = verb === 'approve' ? 'Approved: the call is made now' : 'Denied'
  terminal.print(`${done}: ${tool} of the agent ${agentId}.`)
}
