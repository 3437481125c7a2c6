// Resolves model references to models, and checks whether a request may use them. Providers load when first needed.
import { parseDuration } from '../kit/duration.ts'
import { secretValues } from '../config/redaction.ts'
import type { Config, ModelPrice } from '../config/schema/schema.ts'
import { defaultFirstTokenTimeout, settingsOfProvider } from '../config/schema/extensions.ts'
import { GatewayError } from '../errors.ts'
import { createExtensionLog } from '../loader/extension-log.ts'
import type { LanguageModel, Log, Provider } from '../plugin/plugin.ts'
import type { Thinking } from '../action.ts'
import { readManifest } from '../version.ts'
import type { Agent } from './agents.ts'
import { ModelError } from './model-error.ts'
import { type CallTokens, computeCost, findContextWindow, type PriceSource } from './prices.ts'

/** A model that the configuration allows. Its provider is not loaded yet. */
export interface Model {
  /** `<provider>/<model>`. */
  ref: string
  /** The left side of `ref`. */
  provider: string
  /** How long the model may be silent before its call has failed, in milliseconds; 0 for no limit. */
  firstTokenTimeoutMs: number
  /** False: the model cannot reason, so no thinking level is sent. */
  reasoning: boolean
  /** Computes the cost of a call in billionths of a US dollar. Undefined: the price is not known. */
  costOf(tokens: CallTokens): Promise<number | undefined>
  /** How many tokens the model can read at once, if that is known. */
  contextWindow(): Promise<number | undefined>
  /** Loads the provider, once for all its models. Rejects with `model_failed` if that fails. */
  model(): Promise<LanguageModel>
  /** Creates the error for a failure of this model, without the secrets of its provider. */
  createError(cause: unknown, options?: { sentence?: string }): ModelError
}

/** The agent whose list of models applies. */
type ListOwner = Pick<Agent, 'models'> & Partial<Pick<Agent, 'priced'>>

export interface Models {
  /** Resolves a reference or alias. Throws `invalid_request` if the provider or alias is unknown. */
  resolve(reference: string, agent: ListOwner): Model
  /** Resolves a reference from a request. If the agent lists its models, the reference must be one of them. */
  resolveRequested(reference: string, agent: ListOwner & Pick<Agent, 'modelsKey'>): Model
}

export interface ModelsDeps {
  config: Pick<Config, 'providers'>
  /** The installed providers by kind. */
  providers: ReadonlyMap<string, Provider<never>>
  log: Log
}

export function createModels({ config, providers, log }: ModelsDeps): Models {
  const sections: Config['providers'] = { builtin: { kind: 'builtin' }, ...config.providers }
  const loadProvider = createProviderLoader(sections, log)

  function resolve(reference: string, agent: ListOwner): Model {
    const entry = findEntry(reference, agent)
    const ref = refOf(reference, agent)
    const { name, modelId } = splitReference(ref)
    const provider = providers.get(sections[name]?.kind ?? '')
    if (!provider)
      throw new GatewayError(
        'invalid_request',
        'model names a provider that is not configured; add it under providers, or name another one.',
      )
    const createError: Model['createError'] = (cause, options) =>
      new ModelError(cause, { provider: name, secrets: secretValues(sections[name], provider.config), ...options })
    const model = async () => {
      let opened: LanguageModel
      try {
        opened = (await loadProvider(name, provider))(modelId)
      } catch (cause) {
        const sentence = describeMissingPackage(cause) ?? `The provider "${name}" could not open the model.`
        throw createError(cause, { sentence })
      }
      const fault = findModelFault(opened)
      if (fault === undefined) return opened
      throw createError(new TypeError(fault), { sentence: `The provider "${name}" ${fault}.` })
    }
    const usePricing = async <Found>(use: (pricing: PriceSource | undefined) => Promise<Found>) => {
      try {
        return await use(provider.pricing?.(settingsOfProvider(sections[name]) as never))
      } catch (error) {
        log.warn({ err: error, model: ref }, 'the price of a model could not be read')
        return undefined
      }
    }
    const own = findPrice(ref, agent)
    return {
      ref,
      provider: name,
      firstTokenTimeoutMs: timeoutMsOf(sections[name]),
      reasoning: entry?.reasoning ?? true,
      costOf: (tokens) => usePricing((pricing) => computeCost(own ? { own } : pricing, modelId, tokens)),
      contextWindow: () => usePricing((pricing) => findContextWindow(pricing, modelId)),
      model,
      createError,
    }
  }

  return {
    resolve,
    resolveRequested(reference, agent) {
      if (!agent.models || findEntry(reference, agent)) return resolve(reference, agent)
      throw new GatewayError(
        'invalid_request',
        `model is not one of the models that may be used; name one of ${agent.modelsKey}, or add it there.`,
      )
    },
  }
}

type OpenModel = (modelId: string) => LanguageModel

const timeoutMsOf = (section: Config['providers'][string] | undefined): number =>
  parseDuration(section?.firstTokenTimeout ?? defaultFirstTokenTimeout) ?? 0

/** Loads each provider once. A load that failed (because a package was missing, say) or hangs is tried again later. */
function createProviderLoader(sections: Config['providers'], log: Log) {
  const loaded = new Map<string, Promise<OpenModel>>()
  return (name: string, provider: Provider<never>): Promise<OpenModel> => {
    const known = loaded.get(name)
    if (known) return known
    const settings = settingsOfProvider(sections[name])
    const loading = (provider as Provider).models(settings, { name, log: createExtensionLog(log, { provider: name }) })
    loaded.set(name, loading)
    const forget = (): void => void loaded.delete(name)
    const timeoutMs = timeoutMsOf(sections[name])
    const timer = timeoutMs > 0 ? setTimeout(forget, timeoutMs).unref() : undefined
    loading.then(() => clearTimeout(timer), forget)
    return loading
  }
}

/** Finds the entry of the agent's list. Aliases take precedence over ids. */
function findEntry(reference: string, { models = [] }: ListOwner): { id: string; reasoning?: boolean } | undefined {
  const wanted = reference.trim()
  const entries = models.map((entry) => (typeof entry === 'string' ? { id: entry, alias: undefined } : entry))
  return entries.find(({ alias }) => alias?.trim() === wanted) ?? entries.find(({ id }) => id.trim() === wanted)
}

/** `<provider>/<model>`, also for an alias. */
export const refOf = (reference: string, list: ListOwner): string =>
  findEntry(reference, list)?.id.trim() ?? reference.trim()

/** Finds the price that the configuration has for a model. */
const findPrice = (ref: string, { priced = [] }: ListOwner): ModelPrice | undefined =>
  priced.flatMap((entry) => (typeof entry === 'object' && entry.id.trim() === ref ? (entry.price ?? []) : []))[0]

/** `openrouter/vendor/model` is the model `vendor/model` of `openrouter`. */
function splitReference(ref: string): { name: string; modelId: string } {
  const slash = ref.indexOf('/')
  const [name, modelId] = [ref.slice(0, slash), ref.slice(slash + 1)]
  if (slash < 1 || !modelId)
    throw new GatewayError('invalid_request', 'model must be <provider>/<model>, or the alias of a listed model.')
  return { name, modelId }
}

/** The model library sends a plain string to a service that is not configured here. */
const specifications: ReadonlySet<unknown> = new Set(['v4', 'v3', 'v2'])

/** What is wrong with what a provider returned, as the end of a sentence about it. A model may be a function, too. */
function findModelFault(model: unknown): string | undefined {
  const isObject = (typeof model === 'object' && model !== null) || typeof model === 'function'
  const version = isObject ? (model as { specificationVersion?: unknown }).specificationVersion : undefined
  if (version === undefined) return 'did not return a model object of the AI SDK'
  if (specifications.has(version)) return undefined
  const shown = typeof version === 'string' ? version.slice(0, 40) : typeof version
  return `returned a model object of the specification "${shown}"; v4, v3 and v2 of the AI SDK are known`
}

export type Reasoning = 'none' | Exclude<Thinking, 'off'>

/** Converts a thinking level into the model library's term. Undefined: send none. */
export function resolveReasoning(
  thinking: Thinking | undefined,
  model: Pick<Model, 'reasoning'>,
): Reasoning | undefined {
  if (thinking === undefined || !model.reasoning) return undefined
  return thinking === 'off' ? 'none' : thinking
}

/** A sentence with the command that installs the missing package of a provider; undefined for any other error. */
export function describeMissingPackage(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND') return undefined
  const name = /Cannot find package '([^']+)'/.exec(String(message))?.[1]
  return name && `The package ${name} is not installed; install it with: npm install ${name}${findTestedVersion(name)}`
}

/** Returns `@<version>` for a package that this gateway was tested with. */
function findTestedVersion(name: string): string {
  const version = readManifest().optionalDependencies[name]
  return version === undefined ? '' : `@${version}`
}
