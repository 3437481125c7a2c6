// Resolves what the end of a run changes: the delivery of its reply, the run summary, the failure alert.
import type { Approvals } from '../approvals/approvals.ts'
import type { Config } from '../config/schema/schema.ts'
import { createRequestedAddress, type Recipients } from '../delivery/recipient.ts'
import type { Log } from '../plugin/plugin.ts'
import { budgetScopesOf, type NewDelivery, type RunEnd, type StoredRun } from '../store/store.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import { isAcknowledgement, isOnlyAcknowledgement, removeAcknowledgement } from './heartbeat-ok.ts'
import type { AttemptResult } from './attempt-result.ts'
import { createFailureAlert } from './failure-alert.ts'
import { createRunSummary } from './run-summary.ts'

export interface Outcome {
  /** Everything that the end of the run changes, to be stored in one transaction. */
  resolve(run: StoredRun, ended: AttemptResult): Promise<RunEnd>
}

interface OutcomeDeps {
  agents: Agents
  recipients: Recipients
  /** True: another gateway on the store may have a channel that this one lacks. */
  isShared: boolean
  createId: () => string
  /** The time of the store. */
  now(): number
  onFailure: Config['hooks']['onFailure']
  approvals: Pick<Approvals, 'prepareNotices'>
  log: Log
}

export function createOutcome({ agents, createId, now, approvals, ...deps }: OutcomeDeps): Outcome {
  return {
    resolve: async (run, ended) => {
      const { status, result, eventsRendered, eventsRefused } = ended
      const acknowledged = isAcknowledged(run, ended, agents.get(run.agentId))
      const deliveries = await resolveDeliveries({ run, ended, acknowledged }, deps)
      const { mainSession } = agents.default
      return {
        at: Date.now(),
        status,
        result: ended.provenance ? { ...result, provenance: ended.provenance } : result,
        // A heartbeat that only acknowledges does not belong in the conversation. One that rendered events does, so
        // that later turns know about them.
        transcript: run.kind === 'heartbeat' && acknowledged && !eventsRendered ? [] : ended.transcript,
        events: createRunSummary({ run, ended, acknowledged, deliveries, mainSession, createId }),
        deliveries,
        eventsRendered,
        eventsRefused,
        steps: ended.steps,
        ...(ended.steps && { counted: { scopes: budgetScopesOf(run), at: now() } }),
        alert: await createFailureAlert(deps, run, ended),
        // Every call of a run that succeeds has ended.
        notices: status === 'succeeded' ? [] : await approvals.prepareNotices(run),
        provenance: ended.kept,
      }
    },
  }
}

/** A heartbeat may say a little more. What any other run says beside the word was asked for. */
function isAcknowledged({ kind }: StoredRun, { result: { reply } }: AttemptResult, agent: Agent): boolean {
  if (reply === undefined) return false
  return kind === 'heartbeat' ? isAcknowledgement(reply, agent.ackMaxChars) : isOnlyAcknowledgement(reply)
}

interface DeliveryInput {
  run: StoredRun
  ended: AttemptResult
  acknowledged: boolean
}

async function resolveDeliveries(
  { run, ended, acknowledged }: DeliveryInput,
  { recipients, isShared }: Pick<OutcomeDeps, 'recipients' | 'isShared'>,
): Promise<NewDelivery[]> {
  const { deliver } = run.spec
  const text = resolveText(run, ended)
  if (!deliver || text === undefined) return []
  const base = { id: `${run.id}:0`, runId: run.id, text }
  const skipped = { ...createRequestedAddress(deliver), ...base, status: 'skipped' } as const
  if (acknowledged) return [{ ...skipped, reason: 'The reply only acknowledges.' }]
  if (!text.trim()) return [{ ...skipped, reason: 'The reply is empty.' }]
  const found = await recipients.resolve(deliver)
  if ('address' in found) return [{ ...base, ...found.address, status: 'pending', reason: null }]
  const { channel, to, reason, isMissing } = found
  if (isMissing && isShared) return [{ ...skipped, channel, to, status: 'pending', reason, wanted: deliver }]
  return [{ ...skipped, channel, to, status: 'failed', reason }]
}

/**
 * The text to deliver. Somebody who wrote on a channel also hears of a failure, and of its reason unless they are a
 * stranger. Failures of other runs are not delivered: they are in the run summary.
 */
function resolveText(run: StoredRun, { status, result }: AttemptResult): string | undefined {
  if (status === 'succeeded') return removeAcknowledgement(result.reply ?? '')
  if (run.kind !== 'channel' || status === 'cancelled' || result.error?.type === 'rights_removed') return undefined
  return run.spec.origin.stranger ? 'I could not answer.' : `I could not answer. ${result.error?.message ?? ''}`.trim()
}
