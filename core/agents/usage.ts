// Reads the tokens of a call of a model as its service reports them. Every count is checked: a service may report
// anything, and budgets depend on it.
import type { LanguageModelUsage } from 'ai'
import type { StepUsage, Usage } from '../store/run-spec.ts'
import type { Step } from '../store/store.ts'

/** The most tokens of one kind that one call can have. Models read and write less. */
const maxTokens = 10_000_000

/** Computes the tokens of a call from its length. Called when the service reports none. */
export interface UsageEstimate {
  inputTokens(): number
  outputTokens(): number
}

/** Undefined for anything but a positive number. */
const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value > 0 ? Math.min(Math.ceil(value), maxTokens) : undefined

/** Most services count the parts within the total. Some count them beside it, which shows if the parts are more. */
const totalOf = (total: number, parts: number): number => (parts > total ? total + parts : total)

/**
 * Input tokens include those that were read from a cache and written to it, and output tokens include reasoning.
 * A call has input, and what was written has tokens: a count that is missing is estimated.
 */
export function readUsage(reported: LanguageModelUsage | undefined, estimate: UsageEstimate): StepUsage {
  const cachedInputTokens = countOf(reported?.inputTokenDetails.cacheReadTokens) ?? 0
  const cacheWriteTokens = countOf(reported?.inputTokenDetails.cacheWriteTokens) ?? 0
  const reasoningTokens = countOf(reported?.outputTokenDetails.reasoningTokens) ?? 0
  const [input, output] = [countOf(reported?.inputTokens), countOf(reported?.outputTokens)]
  const written = output ?? estimate.outputTokens()
  const inputTokens = totalOf(input ?? estimate.inputTokens(), cachedInputTokens + cacheWriteTokens)
  const outputTokens = totalOf(written, reasoningTokens)
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens,
    totalTokens: inputTokens + outputTokens,
    ...((input === undefined || (output === undefined && written > 0)) && { isEstimated: true }),
  }
}

const tokenKeys = [
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'totalTokens',
] as const

/** The usage of all calls of the model. */
export function sumUsage(steps: readonly Step[]): Usage {
  const usages = steps.flatMap(({ kind, detail }) =>
    kind === 'model' && 'usage' in detail ? (detail.usage ?? []) : [],
  )
  const sum = (pick: (usage: StepUsage) => number | undefined) =>
    usages.reduce((total, usage) => total + (pick(usage) ?? 0), 0)
  const unpricedSteps = usages.filter(({ costNanoUsd }) => costNanoUsd === undefined).length
  return {
    ...(Object.fromEntries(tokenKeys.map((key) => [key, sum((usage) => usage[key])])) as Record<
      (typeof tokenKeys)[number],
      number
    >),
    steps: usages.length,
    ...(usages.some(({ isEstimated }) => isEstimated) && { isEstimated: true }),
    ...(unpricedSteps < usages.length && { costNanoUsd: sum(({ costNanoUsd }) => costNanoUsd) }),
    ...(unpricedSteps > 0 && { unpricedSteps }),
  }
}
