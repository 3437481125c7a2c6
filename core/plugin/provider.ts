// The contract of a provider: a source of language models.
import type { LanguageModel as AnyLanguageModel } from 'ai'
import type { Log } from './context.ts'
import type { JsonSchema } from '../typebox.ts'

/**
 * A model object as the AI SDK specifies it: `LanguageModelV4` of AI SDK 7 and its provider packages of version 4, or
 * the older V3 and V2, as `specificationVersion` says. Never a model name: the AI SDK would send a name to a hosted
 * service.
 */
export type LanguageModel = Exclude<AnyLanguageModel, string>

/** The newest specification of a model object, for models that are written by hand. */
export type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: 'v4' }>

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
   * How the prices of the models are found: by the address of the API, or `free` if no call ever costs anything.
   * Absent: a price is known only if the configuration has it.
   */
  pricing?(config: Config): { url: string } | 'free'
  /**
   * The request that lists the models of the service. `svc-gateway doctor` and `svc-gateway setup` send it to check the
   * address, the credential and the models. `context.env` is the environment, from which a library may read a key.
   * Throw an `AuthError` if a credential is missing.
   */
  listModels?(config: Config, context: { env: Readonly<Record<string, string | undefined>> }): ModelListRequest
  /**
   * The hosted service of the provider. `svc-gateway setup` offers it, and asks for the setting `apiKey` unless a variable
   * holds the key.
   */
  service?: ModelService
  /**
   * Programs that serve models on the machine of a person. `svc-gateway setup` and the first start look for them with
   * `listModels`, and offer those that answer. They need no setting but `baseUrl`.
   */
  localServers?: readonly ModelServer[]
}

/** A hosted service with models. */
export interface ModelService {
  /** Its name for people. */
  title: string
  /** Environment variables that may hold the API key. The first one is recommended. */
  keyVariables: readonly string[]
  /** The id of a model to suggest. */
  model: string
  /** The value of `gen_ai.provider.name` in traces. Default: the name of the provider. */
  traceName?: string
}

/** A program that serves models at a usual address. */
export interface ModelServer {
  /** The suggested name of its section of `providers`. */
  name: string
  /** Its name for people. */
  title: string
  /** The usual address of its API, on this machine. */
  baseUrl: string
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
