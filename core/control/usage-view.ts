// Usage of models in the form that the API returns: its schemas, and how it is made of what is stored.
import type { StepUsage } from '../store/run-spec.ts'
import type { SubagentUsage } from '../store/store.ts'
import { type Static, Type } from '../typebox.ts'

const tokens = {
  inputTokens: Type.Integer({
    description: 'All input, with the tokens that were read from a cache or written to it.',
  }),
  outputTokens: Type.Integer({ description: 'All output, with the reasoning.' }),
  cachedInputTokens: Type.Integer(),
  cacheWriteTokens: Type.Optional(Type.Integer()),
  reasoningTokens: Type.Integer(),
  totalTokens: Type.Integer(),
  estimated: Type.Optional(
    Type.Literal(true, {
      description: 'The service reported no tokens, so that they were computed from the length of the texts.',
    }),
  ),
  cost: Type.Optional(Type.Number({ description: 'In US dollars. Absent: the price of the model is not known.' })),
}

/** The schema of the usage of one step. */
export const UsageOfStep = Type.Object(tokens)

/** The schema of the usage of several steps. */
export const UsageFields = Type.Object(
  {
    ...tokens,
    steps: Type.Integer({ description: 'Number of model calls.' }),
    unpricedSteps: Type.Optional(
      Type.Integer({ description: 'How many of them have no known price. `cost` is that of the others.' }),
    ),
  },
  { description: 'The tokens of all steps, and their cost.' },
)

/** The schema of the usage of subagent runs. */
export const UsageOfSubagents = Type.Object(
  {
    runs: Type.Integer(),
    steps: UsageFields.properties.steps,
    totalTokens: Type.Integer(),
    cost: UsageFields.properties.cost,
    unpricedSteps: UsageFields.properties.unpricedSteps,
  },
  { description: 'What the runs that its tools started have used so far, and those that these started.' },
)

export const viewUsage = <Usage extends StepUsage>({ costNanoUsd, isEstimated, ...usage }: Usage) => ({
  ...usage,
  ...(isEstimated && { estimated: true as const }),
  ...(costNanoUsd !== undefined && { cost: toUsd(costNanoUsd) }),
})

/** A sum of calls without a single known price has no cost. */
export const viewSubagents = ({
  costNanoUsd,
  unpricedSteps,
  ...sums
}: SubagentUsage): Static<typeof UsageOfSubagents> => ({
  ...sums,
  ...(unpricedSteps < sums.steps && { cost: toUsd(costNanoUsd) }),
  ...(unpricedSteps > 0 && { unpricedSteps }),
})

/** Converts billionths of a US dollar. */
const toUsd = (nanoUsd: number): number => nanoUsd / 1e9
