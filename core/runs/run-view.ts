// Converts a stored run into the form that the API returns.
import type { Origin, RunResult, Usage } from '../store/run-spec.ts'
import type { ListedRun, DeliveryStatus, RunStatus, StoredDelivery, StoredRun } from '../store/store.ts'
import { traceIdOf } from '../telemetry/trace-context.ts'

export interface RunView {
  id: string
  traceId?: string | undefined
  kind: StoredRun['kind']
  agentId: string
  sessionKey: string
  /** The model that ran it or, before that, the one that it asks for. */
  model?: string | undefined
  status: RunStatus
  origin: Origin
  name?: string | undefined
  reply?: string | undefined
  error?: RunResult['error']
  usage?: Usage | undefined
  toolErrors?: RunResult['toolErrors']
  retryOf?: string | undefined
  retriedAs?: string | undefined
  deliveries: { id: string; channel: string; to: string; status: Exclude<DeliveryStatus, 'sending'>; reason?: string }[]
  /** Times are ISO 8601, UTC. */
  createdAt: string
  /** From its acceptance to the start of its first attempt. */
  queuedMs?: number
  /** Oldest first. */
  attempts: { startedAt: string; endedAt?: string; reason?: string }[]
  startedAt?: string
  /** When the next attempt begins. */
  nextAttemptAt?: string
  endedAt?: string
}

export function viewRun(run: Omit<ListedRun, 'seq'>, deliveries: readonly Omit<StoredDelivery, 'seq'>[]): RunView {
  const { id, kind, agentId, sessionKey, status, spec, result } = run
  return {
    id,
    ...(spec.trace && { traceId: traceIdOf(spec.trace) }),
    kind,
    agentId,
    sessionKey,
    model: result.model ?? spec.model,
    status,
    origin: spec.origin,
    name: spec.name,
    reply: result.reply,
    error: result.error,
    usage: result.usage,
    toolErrors: result.toolErrors,
    retryOf: spec.retryOf,
    retriedAs: result.retriedAs,
    deliveries: deliveries.map(viewDelivery),
    createdAt: toIso(run.createdAt),
    ...viewAttempts(run),
    ...(run.startedAt !== null && { startedAt: toIso(run.startedAt) }),
    ...(status === 'queued' && result.retry && { nextAttemptAt: toIso(result.retry.nextAt) }),
    ...(run.endedAt !== null && { endedAt: toIso(run.endedAt) }),
  }
}

function viewAttempts(run: Omit<ListedRun, 'seq'>): Pick<RunView, 'queuedMs' | 'attempts'> {
  const { attempts, createdAt, startedAt, endedAt, status } = run
  const earlier = attempts.map((attempt) => ({
    startedAt: toIso(attempt.startedAt),
    endedAt: toIso(attempt.endedAt),
    reason: attempt.reason,
  }))
  // A run in the queue has no attempt but the earlier ones.
  const isLatest = startedAt !== null && status !== 'queued' && attempts.at(-1)?.startedAt !== startedAt
  const latest = isLatest ? [{ startedAt: toIso(startedAt), ...(endedAt !== null && { endedAt: toIso(endedAt) }) }] : []
  const firstStart = attempts[0]?.startedAt ?? startedAt
  return { attempts: [...earlier, ...latest], ...(firstStart !== null && { queuedMs: firstStart - createdAt }) }
}

function viewDelivery({ id, channel, to, status, reason }: Omit<StoredDelivery, 'seq'>): RunView['deliveries'][number] {
  return { id, channel, to, status: status === 'sending' ? 'pending' : status, ...(reason !== null && { reason }) }
}

const toIso = (at: number): string => new Date(at).toISOString()
