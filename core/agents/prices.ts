// Computes what the calls of a model cost: by the price of the configuration, or by the table of a package.
import { readFileSync } from 'node:fs'
import type { ModelPrice } from '../config/schema/schema.ts'
import type { StepUsage } from '../store/run-spec.ts'

/** Where the price of a model comes from. */
export type PriceSource =
  /** A price of the configuration. */
  | { own: ModelPrice }
  /** The address of the service, by which the table finds the price of a model. */
  | { url: string }
  /** The model costs nothing by definition. */
  | 'free'

/** The tokens of a call. Parts that are absent have no price of their own. */
export type CallTokens = Pick<StepUsage, 'inputTokens' | 'outputTokens'> & Partial<StepUsage>

/** The highest cost of one call, in billionths of a US dollar. It keeps sums exact, whatever a service reports. */
const maxCostNanoUsd = 1e13

/**
 * Computes the cost of a call in billionths of a US dollar. The table is loaded with the first call that needs it.
 * @returns undefined if the price is not known
 */
export async function computeCost(
  source: PriceSource | undefined,
  modelId: string,
  tokens: CallTokens,
): Promise<number | undefined> {
  if (source === undefined) return undefined
  if (source === 'free') return 0
  const { calcPrice } = await import('@pydantic/genai-prices')
  const options = 'own' in source ? { provider: toProvider(modelId, source.own) } : { providerApiUrl: source.url }
  const result = calcPrice(toUnits(tokens), modelId, options)
  // The table would count what has no price as free.
  if (!result || result.model_price['input_mtok'] === undefined || result.model_price['output_mtok'] === undefined)
    return undefined
  return Math.min(Math.round(result.total_price * 1e9), maxCostNanoUsd)
}

/** How many tokens a model can read at once, if the table knows it. */
export async function findContextWindow(source: PriceSource | undefined, modelId: string): Promise<number | undefined> {
  if (source === undefined || source === 'free' || !('url' in source)) return undefined
  const { calcPrice } = await import('@pydantic/genai-prices')
  return calcPrice({}, modelId, { providerApiUrl: source.url })?.model.context_window
}

const toUnits = (tokens: CallTokens) => ({
  input_tokens: tokens.inputTokens,
  cache_read_tokens: tokens.cachedInputTokens ?? 0,
  cache_write_tokens: tokens.cacheWriteTokens ?? 0,
  output_tokens: tokens.outputTokens,
  output_reasoning_tokens: tokens.reasoningTokens ?? 0,
})

/** A table with one model. Tokens without a price of their own have that of the input or of the output. */
const toProvider = (modelId: string, { input, output, cachedInput, cacheWrite, reasoning }: ModelPrice) => ({
  id: 'own',
  name: 'own',
  api_pattern: '',
  models: [
    {
      id: modelId,
      match: { equals: modelId.toLowerCase().trim() },
      prices: {
        input_mtok: input,
        output_mtok: output,
        ...(cachedInput !== undefined && { cache_read_mtok: cachedInput }),
        ...(cacheWrite !== undefined && { cache_write_mtok: cacheWrite }),
        ...(reasoning !== undefined && { output_reasoning_mtok: reasoning }),
      },
    },
  ],
})

/** The name and the version of the package with the table, whose data is of the day of that version. */
export function describePriceTable(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.resolve('@pydantic/genai-prices')), 'utf8')
  const { name, version } = JSON.parse(manifest) as { name: string; version: string }
  return `${name} ${version}`
}
