// What follows a run: the summary for the main session, the delivery of its reply, the wake.
import type { Config } from '../config/schema.ts'
import type { Recipients } from '../delivery/recipient.ts'
import type { Log } from '../plugin.ts'
import { isFromHook, type Recipient, type RunResult, type RunSpec } from '../store/run-spec.ts'
import type { NewDelivery, NewTranscriptEntry, RunEnd, StoredRun } from '../store/store.ts'
import { isAcknowledgement } from './acknowledgement.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import { createRunSummary } from './run-summary.ts'
import { createAlert } from './failure-alert.ts'

/** How an attempt at a run ended. */
export interface Ended {
  status: RunEnd['status']
  result: RunResult
  /** What the turn adds to the conversation. */
  transcript: readonly NewTranscriptEntry[]
  eventsRendered: boolean
  /** Why it failed, without what differs from run to run. */
  cause?: string | undefined
  /** True: external content was at hand, so what the run says is derived from it. */
  external?: boolean | undefined
}

export interface Outcome {
  /** Everything that the end of this run changes, to be stored in one transaction. */
  resolve(run: StoredRun, ended: Ended): Promise<RunEnd>
}

interface OutcomeDeps {
  agents: Agents
  recipients: Recipients
  createId: () => string
  onFailure: Config['hooks']['onFailure']
  log: Log
}

export function createOutcome({ agents, recipients, createId, ...alerts }: OutcomeDeps): Outcome {
  return {
    resolve: async (run, ended) => {
      const { spec } = run
      const acknowledged = acknowledges(agents.get(run.agentId), ended)
      const deliveries = await resolveDeliveries({ run, spec, ended, acknowledged }, recipients)
      return {
        at: Date.now(),
        status: ended.status,
        result: ended.result,
        // A check that only acknowledges is no part of the conversation; one that showed events is, so that a later
        // turn knows them.
        transcript: run.kind === 'heartbeat' && acknowledged && !ended.eventsRendered ? [] : ended.transcript,
        events: createRunSummary({
          run,
          ended,
          acknowledged,
          deliveries,
          mainSession: agents.default.mainSession,
          createId,
        }),
        deliveries,
        eventsRendered: ended.eventsRendered,
        alert: await createAlert({ recipients, ...alerts }, run, ended),
        exposes: isFromHook(spec.origin) && ended.transcript.length > 0,
      }
    },
  }
}

function acknowledges(agent: Agent, { result }: Ended): boolean {
  return result.reply !== undefined && isAcknowledgement(result.reply, agent.ackMaxChars)
}

interface DeliveryInput {
  run: StoredRun
  spec: RunSpec
  ended: Ended
  acknowledged: boolean
}

async function resolveDeliveries(
  { run, spec, ended, acknowledged }: DeliveryInput,
  recipients: Recipients,
): Promise<NewDelivery[]> {
  const text = textFor(run, ended)
  if (!spec.deliver || text === undefined) return []
  const base = { id: `${run.id}:0`, runId: run.id, text }
  const nowhere = { ...unresolved(spec.deliver), ...base, status: 'skipped' } as const
  if (acknowledged) return [{ ...nowhere, reason: 'The reply only acknowledges.' }]
  if (!text.trim()) return [{ ...nowhere, reason: 'The reply is empty.' }]
  const found = await recipients.resolve(spec.deliver)
  if ('address' in found) return [{ ...base, ...found.address, status: 'pending', reason: null }]
  return [
    {
      ...unresolved(spec.deliver),
      ...base,
      channel: found.channel,
      to: found.to,
      status: 'failed',
      reason: found.reason,
    },
  ]
}

/** The reply; for a person who wrote and gets none, why; for a webhook that failed, nothing: its summary tells. */
function textFor(run: StoredRun, { status, result }: Ended): string | undefined {
  if (status === 'succeeded') return result.reply ?? ''
  return run.kind === 'channel' && status !== 'cancelled'
    ? `I could not answer. ${result.error?.message ?? ''}`.trim()
    : undefined
}

const unresolved = ({
  channel,
  to,
  accountId,
  threadId,
}: Recipient): Omit<NewDelivery, 'id' | 'runId' | 'text' | 'status' | 'reason'> => ({
  channel,
  accountId: accountId ?? 'default',
  to: to ?? '',
  threadId: threadId ?? null,
  route: null,
})
