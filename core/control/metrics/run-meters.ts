// Counts runs: how they end, how long they take, why they fail and what they cost, by kind, agent and model.
import type { RunEnd, RunRef, Store, StoredRun } from '../../store/store.ts'
import { type Counter, count, createHistogram, createValues, type Histogram, labels } from './counters.ts'

export interface RunMeters {
  accepted: Counter
  ended: Counter
  failures: Counter
  tokens: Counter
  /** From when a run was handed out to its end. */
  seconds: ReadonlyMap<string, Histogram>
  noteAccepted(runs: readonly { kind: string }[]): void
  /** The operations that change runs, counted. */
  watch(store: Store): Pick<Store, 'claimRuns' | 'releaseRun' | 'recoverExpiredRuns' | 'endRun' | 'cancelQueuedRun'>
}

/**
 * Agents and models come and go with the configuration, and requests may choose a model: what is beyond these is
 * `other`.
 */
const [mostAgents, mostModels] = [100, 100]
const bounds = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]

interface UnderWay {
  run: StoredRun
  /** Absent: it was handed out in order to be given up. */
  begun?: number
}

export function createRunMeters(): RunMeters {
  const [accepted, ended, failures, tokens] = [new Map(), new Map(), new Map(), new Map()] as [
    Counter,
    Counter,
    Counter,
    Counter,
  ]
  const seconds = new Map<string, Histogram>()
  const [agentName, modelName] = [createValues(mostAgents), createValues(mostModels)]
  const underWay = new Map<string, UnderWay>()

  function noteEnd({ id }: RunRef, { status, result }: RunEnd): void {
    const known = underWay.get(id)
    if (!known) return
    const { run, begun } = known
    count(ended, labels({ kind: run.kind, status }))
    const about = { agent: agentName(run.agentId), model: modelName(result.model ?? 'none') }
    if (status === 'failed' || status === 'timed_out')
      count(failures, labels({ ...about, type: result.error?.type ?? status }))
    // Without a model there was no turn: nothing waited for this agent's check, say.
    if (begun !== undefined && result.model !== undefined)
      histogramOf(labels(about)).observe((performance.now() - begun) / 1000)
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0 } = result.usage ?? {}
    const spent = {
      input: inputTokens,
      output: outputTokens,
      cached_input: cachedInputTokens,
      reasoning: reasoningTokens,
    }
    for (const [type, times] of Object.entries(spent)) if (times > 0) count(tokens, labels({ ...about, type }), times)
  }

  function histogramOf(label: string): Histogram {
    const histogram = seconds.get(label) ?? createHistogram(bounds)
    seconds.set(label, histogram)
    return histogram
  }

  return {
    accepted,
    ended,
    failures,
    tokens,
    seconds,
    noteAccepted: (runs) => {
      // On the way in of every request: no more than a text.
      for (const { kind } of runs) count(accepted, `kind="${kind}"`)
    },
    watch: (store) => ({
      claimRuns: async (claim) => {
        const claimed = await store.claimRuns(claim)
        for (const run of claimed) underWay.set(run.id, { run, begun: performance.now() })
        return claimed
      },
      releaseRun: async (...args) => {
        underWay.delete(args[0].id)
        return await store.releaseRun(...args)
      },
      recoverExpiredRuns: async (at) => {
        const reaped = await store.recoverExpiredRuns(at)
        for (const run of reaped.exhausted) underWay.set(run.id, { run })
        return reaped
      },
      endRun: async (run, end) => {
        const isEnded = await store.endRun(run, end)
        if (isEnded) noteEnd(run, end)
        underWay.delete(run.id)
        return isEnded
      },
      cancelQueuedRun: async (...args) => {
        const isCancelled = await store.cancelQueuedRun(...args)
        const run = isCancelled ? await store.getRun(args[0]).catch(() => undefined) : undefined
        if (run) count(ended, labels({ kind: run.kind, status: 'cancelled' }))
        return isCancelled
      },
    }),
  }
}
