// Counts steps: tool calls by tool and outcome, the latency of models, the steps of a run, and its time in the queue.
import type { CommitHandlers } from '../../store/commits/commits.ts'
import type { Step } from '../../store/store.ts'
import { createBoundedValues, type Registry } from './registry.ts'

/** A plugin may offer any number of tools, and a request may choose a model. Beyond these, the label is `other`. */
const [maxTools, maxModels] = [200, 100]
const latency = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

export function countSteps(registry: Registry): CommitHandlers {
  const toolCalls = registry.counter('svc_gateway_tool_calls_total', 'Tool calls of agents, by tool and outcome.')
  const modelCalls = registry.histogram('svc_gateway_model_call_seconds', 'Duration of model calls, by model.', {
    bounds: latency,
  })
  const firstToken = registry.histogram(
    'svc_gateway_model_first_token_seconds',
    'Time from a model call to the first part of its answer, by model.',
    { bounds: latency },
  )
  const stepsOfRuns = registry.histogram('svc_gateway_run_steps', 'Steps of a run.', {
    bounds: [1, 2, 3, 5, 8, 13, 21, 34, 55],
    first: [{}],
  })
  const queued = registry.histogram(
    'svc_gateway_run_queued_seconds',
    'Time from accepting a run to its first attempt.',
    { bounds: [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600], first: [{}] },
  )
  const [toolName, modelName] = [createBoundedValues(maxTools), createBoundedValues(maxModels)]

  function count({ kind, status, startedAt, endedAt, detail }: Step): void {
    if (endedAt === null) return
    if (kind === 'tool') return toolCalls.add({ tool: toolName(detail.tool), outcome: status })
    const model = modelName(detail.model)
    modelCalls.observe((endedAt - startedAt) / 1000, { model })
    if (detail.firstTokenMs !== undefined) firstToken.observe(detail.firstTokenMs / 1000, { model })
  }

  return {
    claimRuns: ({ result: claimed }) => {
      for (const { attempts, createdAt, startedAt } of claimed)
        if (attempts.length === 0 && startedAt !== null) queued.observe((startedAt - createdAt) / 1000)
    },
    recordSteps: ({ args: [, { steps }], result: isRecorded }) => {
      if (isRecorded) steps.forEach(count)
    },
    endRun: ({ args: [, { steps = [] }], result: isEnded }) => {
      if (!isEnded) return
      steps.forEach(count)
      const last = steps.at(-1)
      if (last) stepsOfRuns.observe(last.number)
    },
  }
}
