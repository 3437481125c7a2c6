// The approvals of a run's calls, as its turn needs them: who asks for what, and what the model reads about a denial.
import type { StepApprovals } from '../agents/tool-steps.ts'
import type { Approvals } from '../approvals/approvals.ts'
import { renderDenial } from '../approvals/question.ts'
import type { RunLimits } from './run-limits.ts'
import type { StoredApproval, StoredRun } from '../store/store.ts'

/** @param known the approvals that earlier attempts have asked for, oldest first */
export const createStepApprovals = (
  { prepare, describeEnd }: Pick<Approvals, 'prepare' | 'describeEnd'>,
  { run, limits }: { run: StoredRun; limits: RunLimits },
  known: readonly StoredApproval[],
): StepApprovals => ({
  find: (number) => known.findLast(({ step }) => step === number),
  prepare: (call) => prepare({ ...call, ...identify(run), origin: describeOrigin(run) }),
  ask: (work) => limits.within('maxApprovals', run.id, work),
  describeEnd,
  renderDenial,
})

const identify = ({ id, agentId, sessionKey, spec }: StoredRun) => ({
  runId: id,
  askedBy: null,
  agentId,
  sessionKey,
  keepsContent: spec.origin.keepContent !== false,
})

const nouns = {
  hook: 'webhook',
  heartbeat: 'periodic check',
  channel: 'message on',
  subagent: 'subagent of',
  schedule: 'schedule',
  chat: 'message from',
} as const

/** Where the work comes from, for the approver. */
function describeOrigin({ sessionKey, spec: { origin, name } }: StoredRun): string {
  const { kind, viaHook, stranger } = origin
  const source = `${nouns[kind]} ${origin.name}${name === undefined ? '' : ` (${name})`}`
  const starter = stranger ? ', started by a stranger' : viaHook ? ', started by a webhook' : ''
  return `${source}${starter}, session ${sessionKey}`
}
