// Counts steps: tool calls by tool and outcome, the latency of models, the steps of a run, and its time in the queue.
import type { Step, StoredRun } from '../../store/store.ts'
import {
  type Counter,
  count,
  createBoundedValues,
  createHistogram,
  type Histogram,
  histogramOf,
  labels,
} from './counters.ts'

export interface StepMeters {
  toolCalls: Counter
  /** Seconds by model. */
  firstToken: ReadonlyMap<string, Histogram>
  modelCalls: ReadonlyMap<string, Histogram>
  stepsPerRun: Histogram
  queued: Histogram
  countSteps(steps: readonly Step[]): void
  countStart(run: StoredRun): void
}

/** A plugin may offer any number of tools, and a request may choose a model. Beyond these, the label is `other`. */
const [maxTools, maxModels] = [200, 100]
const latencyBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const queueBounds = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600]
const stepBounds = [1, 2, 3, 5, 8, 13, 21, 34, 55]

export function createStepMeters(): StepMeters {
  const toolCalls: Counter = new Map()
  const [firstToken, modelCalls] = [new Map<string, Histogram>(), new Map<string, Histogram>()]
  const [stepsPerRun, queued] = [createHistogram(stepBounds), createHistogram(queueBounds)]
  const [toolName, modelName] = [createBoundedValues(maxTools), createBoundedValues(maxModels)]

  return {
    toolCalls,
    firstToken,
    modelCalls,
    stepsPerRun,
    queued,
    countSteps: (steps) => {
      for (const { kind, status, startedAt, endedAt, detail } of steps) {
        if (endedAt === null) continue
        if (kind === 'tool') {
          count(toolCalls, labels({ tool: toolName(detail.tool), outcome: status }))
          continue
        }
        const label = labels({ model: modelName(detail.model) })
        histogramOf(modelCalls, label, latencyBounds).observe((endedAt - startedAt) / 1000)
        const { firstTokenMs } = detail
        if (firstTokenMs !== undefined) histogramOf(firstToken, label, latencyBounds).observe(firstTokenMs / 1000)
      }
    },
    countStart: ({ attempts, createdAt, startedAt }) => {
      if (attempts.length === 0 && startedAt !== null) queued.observe((startedAt - createdAt) / 1000)
    },
  }
}
