// Counts runs: results, durations, failures, tokens and costs, by kind, agent, model and hook.
import { type CommitHandlers, handleCommit } from '../../store/commits/commits.ts'
import type { OpeningStore, RunEnd, RunRef, Store, StoredRun } from '../../store/store.ts'
import type { Usage } from '../../store/run-spec.ts'
import { type Counter, count, createBoundedValues, type Histogram, histogramOf, labels } from './counters.ts'

export interface RunMeters {
  accepted: Counter
  ended: Counter
  failures: Counter
  tokens: Counter
  /** In US dollars. */
  cost: Counter
  /** Calls of models whose price is not known. */
  unpriced: Counter
  /** Seconds from the claim of a run to its end. */
  seconds: ReadonlyMap<string, Histogram>
  countAccepted(runs: readonly { kind: string }[]): void
  /** Counts the runs of the commits from now on. */
  count(opening: { commits: OpeningStore['commits']; store: Pick<Store, 'getRun'> }): void
}

/** Reloads change the agents and requests may choose a model. Beyond these limits the label is `other`. */
const [maxAgents, maxModels, maxHooks] = [100, 100, 100]
const bounds = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]

interface ActiveRun {
  run: StoredRun
  /** Absent: no attempts are left, so the run is only ended. */
  startedAt?: number
}

export function createRunMeters(): RunMeters {
  const accepted: Counter = new Map()
  const ended: Counter = new Map()
  const failures: Counter = new Map()
  const tokens: Counter = new Map()
  const cost: Counter = new Map()
  const unpriced: Counter = new Map()
  const seconds = new Map<string, Histogram>()
  const [agentName, modelName] = [createBoundedValues(maxAgents), createBoundedValues(maxModels)]
  const hookName = createBoundedValues(maxHooks)
  const activeRuns = new Map<string, ActiveRun>()

  function countEnd({ id }: RunRef, { status, result }: RunEnd): void {
    const known = activeRuns.get(id)
    if (!known) return
    const { run, startedAt } = known
    count(ended, labels({ kind: run.kind, status }))
    const subject = { agent: agentName(run.agentId), model: modelName(result.model ?? 'none') }
    if (status === 'failed' || status === 'timed_out')
      count(failures, labels({ ...subject, type: result.error?.type ?? status }))
    // A run without a model had no turn, so its duration says nothing about the agent.
    if (startedAt !== undefined && result.model !== undefined)
      histogramOf(seconds, labels(subject), bounds).observe((performance.now() - startedAt) / 1000)
    if (result.usage) countUsage({ ...subject, hook: hookOf(run) }, result.usage)
  }

  function countUsage(subject: Record<string, string>, usage: Usage): void {
    const spent = {
      input: usage.inputTokens,
      output: usage.outputTokens,
      cached_input: usage.cachedInputTokens,
      reasoning: usage.reasoningTokens,
    }
    for (const [type, times] of Object.entries(spent)) if (times > 0) count(tokens, labels({ ...subject, type }), times)
    const { costNanoUsd = 0, unpricedSteps = 0 } = usage
    if (costNanoUsd > 0) count(cost, labels(subject), costNanoUsd / 1e9)
    if (unpricedSteps > 0) count(unpriced, labels(subject), unpricedSteps)
  }

  /** Empty for work that no webhook started. */
  function hookOf({ spec: { origin } }: StoredRun): string {
    const { kind, name } = origin.root ?? origin
    return kind === 'hook' ? hookName(name) : ''
  }

  async function countCancelled(store: Pick<Store, 'getRun'>, id: string): Promise<void> {
    const run = await store.getRun(id).catch(() => undefined)
    if (run) count(ended, labels({ kind: run.kind, status: 'cancelled' }))
  }

  return {
    accepted,
    ended,
    failures,
    tokens,
    cost,
    unpriced,
    seconds,
    countAccepted: (runs) => {
      for (const { kind } of runs) count(accepted, labels({ kind }))
    },
    count: ({ commits, store }) => {
      const handlers: CommitHandlers = {
        claimRuns: ({ result: claimed }) => {
          for (const run of claimed) activeRuns.set(run.id, { run, startedAt: performance.now() })
        },
        releaseRun: ({ args: [{ id }] }) => void activeRuns.delete(id),
        suspendRun: ({ args: [{ id }] }) => void activeRuns.delete(id),
        recoverExpiredRuns: ({ result: { exhausted } }) => {
          for (const run of exhausted) activeRuns.set(run.id, { run })
        },
        endRun: ({ args: [run, end], result: isEnded }) => {
          if (isEnded) countEnd(run, end)
          activeRuns.delete(run.id)
        },
        cancelQueuedRun: ({ args: [id], result: isCancelled }) => {
          if (isCancelled) void countCancelled(store, id)
        },
      }
      commits.subscribe((call) => handleCommit(handlers, call))
    },
  }
}
