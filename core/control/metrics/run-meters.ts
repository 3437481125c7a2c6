// Counts runs: results, durations, failures, tokens and costs, by kind, agent, model and hook.
import type { CommitHandlers } from '../../store/commits/commits.ts'
import { runKinds, type Usage } from '../../store/run-spec.ts'
import type { RunEnd, Store, StoredRun } from '../../store/store.ts'
import { createBoundedValues, type Labels, type Registry } from './registry.ts'

/** Reloads change the agents and requests may choose a model. Beyond these limits the label is `other`. */
const [maxAgents, maxModels, maxHooks] = [100, 100, 100]

interface ActiveRun {
  run: StoredRun
  /** Absent: no attempts are left, so the run is only ended. */
  startedAt?: number
}

export function countRuns(registry: Registry, store: Pick<Store, 'getRun'>): CommitHandlers {
  const ended = registry.counter(
    'svc_gateway_runs_ended_total',
    'Ended runs, by kind and status.',
    runKinds.flatMap((kind) => ['succeeded', 'failed', 'timed_out', 'cancelled'].map((status) => ({ kind, status }))),
  )
  const seconds = registry.histogram('svc_gateway_run_seconds', 'Duration of runs, by agent and model.', {
    bounds: [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800],
  })
  const failures = registry.counter(
    'svc_gateway_run_failures_total',
    'Failed and timed out runs, by agent, model and error type.',
  )
  const countUsage = createUsageMeter(registry)
  const [agentName, modelName] = [createBoundedValues(maxAgents), createBoundedValues(maxModels)]
  const hookName = createBoundedValues(maxHooks)
  const activeRuns = new Map<string, ActiveRun>()

  function countEnd({ run, startedAt }: ActiveRun, { status, result }: RunEnd): void {
    ended.add({ kind: run.kind, status })
    const subject = { agent: agentName(run.agentId), model: modelName(result.model ?? 'none') }
    if (status === 'failed' || status === 'timed_out') failures.add({ ...subject, type: result.error?.type ?? status })
    // A run without a model had no turn, so its duration says nothing about the agent.
    if (startedAt !== undefined && result.model !== undefined)
      seconds.observe((performance.now() - startedAt) / 1000, subject)
    if (result.usage) countUsage({ ...subject, hook: hookOf(run) }, result.usage)
  }

  /** Empty for work that no webhook started. */
  function hookOf({ spec: { origin } }: StoredRun): string {
    const { kind, name } = origin.root ?? origin
    return kind === 'hook' ? hookName(name) : ''
  }

  async function countCancelled(id: string): Promise<void> {
    const run = await store.getRun(id).catch(() => undefined)
    if (run) ended.add({ kind: run.kind, status: 'cancelled' })
  }

  return {
    claimRuns: ({ result: claimed }) => {
      for (const run of claimed) activeRuns.set(run.id, { run, startedAt: performance.now() })
    },
    releaseRun: ({ args: [{ id }] }) => void activeRuns.delete(id),
    suspendRun: ({ args: [{ id }] }) => void activeRuns.delete(id),
    recoverExpiredRuns: ({ result: { exhausted } }) => {
      for (const run of exhausted) activeRuns.set(run.id, { run })
    },
    endRun: ({ args: [{ id }, end], result: isEnded }) => {
      const known = activeRuns.get(id)
      if (known && isEnded) countEnd(known, end)
      activeRuns.delete(id)
    },
    endQueuedRun: ({ args: [id], result: isCancelled }) => {
      if (isCancelled) void countCancelled(id)
    },
  }
}

function createUsageMeter(registry: Registry): (subject: Labels, usage: Usage) => void {
  const tokens = registry.counter('svc_gateway_model_tokens_total', 'Model tokens, by agent, model, hook and type.')
  const cost = registry.counter(
    'svc_gateway_model_cost_usd_total',
    'Cost of models in US dollars, by agent, model and hook.',
  )
  const unpriced = registry.counter(
    'svc_gateway_model_unpriced_calls_total',
    'Model calls without a known price, by agent, model and hook.',
  )
  return (subject, { costNanoUsd = 0, unpricedSteps = 0, ...usage }) => {
    const spent = {
      input: usage.inputTokens,
      output: usage.outputTokens,
      cached_input: usage.cachedInputTokens,
      reasoning: usage.reasoningTokens,
    }
    for (const [type, amount] of Object.entries(spent)) if (amount > 0) tokens.add({ ...subject, type }, amount)
    if (costNanoUsd > 0) cost.add(subject, costNanoUsd / 1e9)
    if (unpricedSteps > 0) unpriced.add(subject, unpricedSteps)
  }
}
