// The contract of a provider: a source of language models.
import type { LanguageModel as AnyLanguageModel } from 'ai'
import type { Log } from './context.ts'
import type { JsonSchema } from '../typebox.ts'

/** A model object of the AI SDK, never a model name: the AI SDK would send a name to a hosted service. */
export type LanguageModel = Exclude<AnyLanguageModel, string>

/** A source of models. Its name is a value of `providers.<name>.kind`. */
export interface Provider<Config = unknown> {
  readonly kind: 'provider'
  name: string
  description: string
  /** Schema of the config section `providers.<name>`, without `kind`. */
  config: JsonSchema
  /**
   * Called when a model of the provider is first needed; import the library here. `context.name` is the name of the
   * config section, the left side of `<provider>/<model>`.
   * @returns a function that throws for an unknown model id
   */
  models(config: Config, context: { name: string; log: Log }): Promise<(modelId: string) => LanguageModel>
  /**
   * The request that lists the models of the service. `svc-gateway doctor` and `svc-gateway setup` send it to check the
   * address, the credential and the models. `context.env` is the environment, from which a library may read a key.
   * Throw an `AuthError` if a credential is missing.
   */
  listModels?(config: Config, context: { env: Readonly<Record<string, string | undefined>> }): ModelListRequest
}

/** A GET request whose answer lists models. */
export interface ModelListRequest {
  url: string
  headers?: Record<string, string>
  /** Reads the ids of the models, in every form that `models` accepts, from the JSON of the answer. */
  readIds(body: unknown): string[]
  /**
   * Whether an error answer says that the key is not valid. `body` is its JSON, if it has one. Absent: the status 401,
   * and 403 with JSON, since a proxy in between answers with a page.
   */
  refusesKey?(status: number, body: unknown): boolean
}

/** Declares a provider of models. */
export const defineProvider = <Config>(provider: Omit<Provider<Config>, 'kind'>): Provider<Config> => ({
  kind: 'provider',
  ...provider,
})
