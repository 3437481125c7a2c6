// Model references: which one a run uses, whether it may, and the model object behind it, loaded when first needed.
import { secretValues } from '../config/redaction.ts'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../errors.ts'
import { createExtensionLog } from '../loader/extension-log.ts'
import type { Json, LanguageModel, Log, Provider } from '../plugin.ts'
import type { Thinking } from '../action.ts'
import type { Agent } from './agents.ts'
import { missingPackage } from './missing-package.ts'
import { ModelError } from './model-error.ts'

/** A model that exists as far as the configuration can tell; nothing of it is loaded yet. */
export interface Model {
  /** `<provider>/<model>`. */
  ref: string
  /** False: it cannot think, so no thinking level is sent. */
  reasoning: boolean
  /** Loads the provider, once for all its models. Rejects with `model_failed` when that does not work. */
  model(): Promise<LanguageModel>
  /** The error that a failure of it is recorded as, without the secrets of its provider. */
  failure(cause: unknown, options?: { sentence?: string; progress?: readonly Json[] }): ModelError
}

/** Whose list of models counts. */
type ListOwner = Pick<Agent, 'models'>

export interface Models {
  /**
   * The model that the configuration names, by reference or alias. Throws `invalid_request` for an unknown provider or
   * alias. Loads nothing.
   */
  resolve(reference: string, agent: ListOwner): Model
  /** The same for a reference that came with a request: where the agent's models are listed, it must be one of them. */
  requested(reference: string, agent: ListOwner & Pick<Agent, 'modelsKey'>): Model
}

export interface ModelsDeps {
  config: Pick<Config, 'providers'>
  /** The loaded providers by the name of their kind. */
  providers: ReadonlyMap<string, Provider<never>>
  log: Log
}

export function createModels({ config, providers, log }: ModelsDeps): Models {
  const sections: Config['providers'] = { builtin: { kind: 'builtin' }, ...config.providers }
  const loading = new Map<string, Promise<(modelId: string) => LanguageModel>>()

  function open(name: string, provider: Provider<never>): Promise<(modelId: string) => LanguageModel> {
    const known = loading.get(name)
    if (known) return known
    const { kind: _kind, ...settings } = sections[name] ?? {}
    const opened = (provider as Provider).models(settings, { name, log: createExtensionLog(log, { provider: name }) })
    loading.set(name, opened)
    // What failed once (a package that was missing, say) is tried again by the next run.
    opened.catch(() => loading.delete(name))
    return opened
  }

  function providerOf(name: string): Provider<never> {
    const provider = providers.get(sections[name]?.kind ?? '')
    if (!provider)
      throw new GatewayError(
        'invalid_request',
        'model names a provider that is not configured; add it under providers, or name another one.',
      )
    return provider
  }

  function resolve(reference: string, agent: ListOwner): Model {
    const entry = findEntry(reference, agent)
    const ref = entry?.id.trim() ?? reference.trim()
    const { name, modelId } = splitReference(ref)
    const provider = providerOf(name)
    const failure: Model['failure'] = (cause, options) =>
      new ModelError(cause, { secrets: secretValues(sections[name], provider.config), ...options })
    const model = async () => {
      try {
        return modelObject((await open(name, provider))(modelId))
      } catch (cause) {
        throw failure(cause, { sentence: missingPackage(cause) ?? `The provider "${name}" could not open the model.` })
      }
    }
    return { ref, reasoning: entry?.reasoning ?? true, model, failure }
  }

  return {
    resolve,
    requested(reference, agent) {
      if (!agent.models || findEntry(reference, agent)) return resolve(reference, agent)
      throw new GatewayError(
        'invalid_request',
        `model is not one of the models that may be used; name one of ${agent.modelsKey}, or add it there.`,
      )
    },
  }
}

/** The entry of the agent's list that a reference means: aliases come before ids. */
function findEntry(reference: string, { models = [] }: ListOwner): { id: string; reasoning?: boolean } | undefined {
  const wanted = reference.trim()
  const entries = models.map((entry) => (typeof entry === 'string' ? { id: entry, alias: undefined } : entry))
  return entries.find(({ alias }) => alias?.trim() === wanted) ?? entries.find(({ id }) => id.trim() === wanted)
}

/** `openrouter/vendor/model` is the model `vendor/model` of `openrouter`. */
function splitReference(ref: string): { name: string; modelId: string } {
  const slash = ref.indexOf('/')
  const [name, modelId] = [ref.slice(0, slash), ref.slice(slash + 1)]
  if (slash < 1 || !modelId)
    throw new GatewayError('invalid_request', 'model must be <provider>/<model>, or the alias of a listed model.')
  return { name, modelId }
}

/** A plain string would leave for a service that nobody here configured. */
function modelObject(model: LanguageModel): LanguageModel {
  if (typeof model !== 'object') throw new TypeError('The provider did not return a model object.')
  return model
}

export type Reasoning = 'none' | Exclude<Thinking, 'off'>

/** The model library's word for a thinking level; undefined: send none. */
export function resolveReasoning(
  thinking: Thinking | undefined,
  model: Pick<Model, 'reasoning'>,
): Reasoning | undefined {
  if (thinking === undefined || !model.reasoning) return undefined
  return thinking === 'off' ? 'none' : thinking
}
