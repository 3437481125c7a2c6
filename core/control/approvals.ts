// The endpoints that list, show and answer approvals.
import { type Approvals, holdsSecret } from '../approvals/approvals.ts'
import type { Redactor } from '../config/redaction.ts'
import { GatewayError } from '../errors.ts'
import { type Principal, reaches, requireContent } from '../http/access.ts'
import { clientOf } from '../tools/reach.ts'
import type { Policy } from '../tools/policy.ts'
import { failures } from '../http/failure.ts'
import { readJson } from '../json.ts'
import type { Json } from '../plugin/plugin.ts'
import { type Answerer, approvalStatuses, type Store, type StoredApproval } from '../store/store.ts'
import { type Static, Type } from '../typebox.ts'
import { content, sessionKey as sealedKey } from './content.ts'
import { type Endpoint, endpoint, type EndpointRequest, found } from './endpoint.ts'
import { IdParams, iso, pageOf, pageQuery, pageRequest, Time, viewPage } from './lists.ts'

interface ApprovalsDeps {
  store: Pick<Store, 'getApproval' | 'listApprovals'>
  approvals: Pick<Approvals, 'answer'>
  policy: Pick<Policy, 'explain'>
  redactor: Pick<Redactor, 'text' | 'json'>
}

export function approvalEndpoints({ store, approvals, policy, redactor }: ApprovalsDeps): Endpoint[] {
  const view = createApprovalView(redactor)
  const find = async (id: string, principal: Principal): Promise<StoredApproval> => {
    const approval = found(await store.getApproval(id), 'approval_not_found')
    if (!reaches(principal, approval.agentId)) throw new GatewayError('approval_not_found')
    return approval
  }

  async function answer(
    { params: { id }, principal, source, change }: Omit<EndpointRequest<IdParams>, 'body'>,
    { status, reason = null, forTurn }: { status: 'approved' | 'denied'; reason?: string | null; forTurn?: boolean },
  ) {
    // Nobody approves what they may not read.
    requireContent(principal, 'answering approvals')
    const approval = await find(id, principal)
    if (status === 'approved') requireOwnRight(policy, approval, principal)
    const { agentId } = approval
    const role = principal.role === 'admin' ? 'admin' : 'operator'
    const by: Answerer = { role, via: source.via, id: principal.name }
    return view(await approvals.answer(id, { status, by, reason, forTurn, audit: change(id, agentId) }))
  }

  return [
    endpoint({
      method: 'GET',
      path: '/api/approvals',
      access: { needs: 'read', scope: 'agents' },
      schema: {
        summary: 'Lists the tool calls that a person had to approve.',
        querystring: ApprovalsQuery,
        response: { 200: pageOf(Approval) },
      },
      handle: async ({ query: { status, runId, ...page }, principal }) =>
        viewPage(await store.listApprovals({ status, runId, agents: principal.agents }, pageRequest(page)), view),
    }),
    endpoint({
      method: 'GET',
      path: '/api/approvals/:id',
      access: { needs: 'read', scope: 'agents' },
      schema: { summary: 'Returns an approval.', params: IdParams, response: { 200: Approval, ...failures(404) } },
      handle: async ({ params, principal }) => view(await find(params.id, principal), true),
    }),
    endpoint({
      method: 'POST',
      path: '/api/approvals/:id/approve',
      access: { needs: 'operate', scope: 'agents', action: 'approval.approve' },
      schema: {
        summary: 'Approves a tool call, which is then made as it is shown.',
        params: IdParams,
        body: ApproveBody,
        response: { 200: Approval, ...failures(403, 404, 409) },
      },
      handle: (request) => answer(request, { status: 'approved', forTurn: request.body.for === 'turn' }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/approvals/:id/deny',
      access: { needs: 'operate', scope: 'agents', action: 'approval.deny' },
      schema: {
        summary: 'Denies a tool call.',
        params: IdParams,
        body: DenyBody,
        response: { 200: Approval, ...failures(404, 409) },
      },
      handle: (request) => answer(request, { status: 'denied', reason: request.body.reason?.trim() || null }),
    }),
  ]
}

/** Nobody approves their own call over MCP, where a model makes it, or a call that their tools exclude. */
function requireOwnRight(
  policy: Pick<Policy, 'explain'>,
  { askedBy, agentId, sessionKey, tool }: StoredApproval,
  principal: Principal,
): void {
  if (askedBy === principal.name)
    throw new GatewayError(
      'forbidden',
      `The credential "${principal.name}" made this call over MCP, so it may not approve it; give the MCP client a ` +
        'token of its own, or answer with another credential or in the chat.',
    )
  const subject = { caller: 'http', agentId, sessionKey, client: clientOf(principal) } as const
  const denied = policy
    .explain(subject, tool)
    .layers.find(({ layer, verdict }) => layer === 'client' && verdict === 'deny')
  if (denied)
    throw new GatewayError(
      'forbidden',
      `The client "${principal.name}" may not approve this call, because it may not use "${tool}" itself ` +
        `(${denied.rule}); another approver must answer.`,
    )
}

/** Longer arguments are only in the answer for a single approval. */
const maxListedLength = 64 * 1024

/** Shows approvals without secrets of the configuration. */
export const createApprovalView =
  (redactor: Pick<Redactor, 'text' | 'json'>) =>
  (approval: StoredApproval, isWhole = false): Approval => {
    const { args, runId, answeredBy, reason } = approval
    const isShown = args !== null && (isWhole || args.length <= maxListedLength)
    const hides = isShown && holdsSecret(redactor, args)
    return {
      id: approval.id,
      ...(runId !== '' && { runId, step: approval.step }),
      agentId: approval.agentId,
      sessionKey: approval.sessionKey,
      tool: approval.tool,
      ...(isShown && { args: hides ? redactArgs(args, redactor) : readJson(args) }),
      ...(args !== null && { argsLength: args.length }),
      ...(hides && { hidesSecrets: true }),
      origin: approval.origin,
      rule: approval.rule,
      ...(approval.isNarrowed && { forTurn: approval.forTurn ? ('approved' as const) : ('possible' as const) }),
      status: approval.status,
      createdAt: iso(approval.createdAt),
      expiresAt: iso(approval.expiresAt),
      ...(approval.answeredAt !== null && { answeredAt: iso(approval.answeredAt) }),
      ...(answeredBy && { answeredBy }),
      ...(reason !== null && { reason }),
    }
  }

/** Keys are redacted, too. A text if that breaks the JSON. */
function redactArgs(args: string, { text, json }: Pick<Redactor, 'text' | 'json'>): Json {
  const redacted = text(json(args))
  try {
    return readJson(redacted) as Json
  } catch {
    return redacted
  }
}

const ApprovalsQuery = Type.Object({
  ...pageQuery,
  status: Type.Optional(Type.Enum([...approvalStatuses])),
  runId: Type.Optional(Type.String()),
})

const ApproveBody = Type.Object({
  for: Type.Optional(
    Type.Enum(['call', 'turn'], {
      description:
        '`turn`: further calls of the run that only the texts of its turn forbid need no approval. Possible if `forTurn` ' +
        'of the approval says so. Default: `call`.',
    }),
  ),
})

const DenyBody = Type.Object({
  reason: Type.Optional(Type.String({ maxLength: 500, description: 'Why; the agent reads it.' })),
})

/** The schema of an approval. */
export const Approval = Type.Object({
  id: Type.String(),
  runId: Type.Optional(Type.String({ description: 'The run that waits. Absent: a client of `/mcp` makes the call.' })),
  step: Type.Optional(Type.Integer({ description: 'The number of the call in the run.' })),
  agentId: Type.String(),
  sessionKey: Type.String(sealedKey),
  tool: Type.String(),
  args: Type.Optional(
    Type.Unknown({
      description:
        'The arguments with which the call is made. Absent if they were purged, and in lists and notifications if they ' +
        'have more than 64 KiB.',
      ...content,
    }),
  ),
  argsLength: Type.Optional(Type.Integer({ description: 'Their length as JSON, in characters.' })),
  hidesSecrets: Type.Optional(
    Type.Boolean({ description: 'True: secrets of the configuration are replaced by `[redacted]` in `args`.' }),
  ),
  origin: Type.Optional(Type.String({ description: 'Where the work comes from.', ...content })),
  rule: Type.String({ description: 'The rule because of which a person is asked.' }),
  forTurn: Type.Optional(
    Type.Enum(['possible', 'approved'], {
      description:
        'Only texts that the turn sees are the reason, so the call can be approved together with all such calls of the ' +
        'turn (`possible`), or was (`approved`).',
    }),
  ),
  status: Type.Enum([...approvalStatuses], {
    description:
      '`expired`: nobody answered in time, so the call was denied. `cancelled`: its run has ended, or its client is gone.',
  }),
  createdAt: Time(),
  expiresAt: Time('Until when it can be answered.'),
  answeredAt: Type.Optional(Time()),
  answeredBy: Type.Optional(
    Type.Object({
      role: Type.Enum(['approver', 'operator', 'admin']),
      via: Type.String({ description: 'The channel, or how the API was called.' }),
      id: Type.String({ description: 'The id of the sender, or the name of the client.' }),
    }),
  ),
  reason: Type.Optional(Type.String({ description: 'Why it was denied.', ...content })),
})
export type Approval = Static<typeof Approval>
