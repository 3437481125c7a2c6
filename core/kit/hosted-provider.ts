// Providers of hosted models: what the packages of the AI SDK for a service with an API key have in common.
import { AuthError } from '../plugin/errors.ts'
import {
  defineProvider,
  type LanguageModel,
  type ModelListRequest,
  type ModelService,
  type Provider,
} from '../plugin/provider.ts'
import { type Static, Type } from '../typebox.ts'
import { createStreamFetch, type RepairEvent } from './stream-fetch.ts'

/** The schema of `headers` of a provider. */
export const RequestHeaders = Type.Optional(
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: Type.String({ secret: true }),
    description: 'Additional headers of every request.',
  }),
)

/** What `create…` of a package of the AI SDK accepts. */
interface Settings {
  apiKey?: string
  baseURL?: string
  headers?: Record<string, string>
  fetch?: typeof fetch
}

export interface HostedService {
  name: string
  description: string
  /** The address of the API unless `baseUrl` is set. */
  baseUrl: string
  /** The environment variable from which the package reads the key. */
  keyVariable: string
  /** How `setup` offers it. Default of `keyVariables`: that variable alone. */
  service: Omit<ModelService, 'keyVariables'> & Partial<Pick<ModelService, 'keyVariables'>>
  /** Imports the package: `async () => (await import('@ai-sdk/openai')).createOpenAI`. */
  load(): Promise<(settings: Settings) => (modelId: string) => LanguageModel>
  /** Changes events of a stream that the package would refuse although they harm nothing. */
  repair?: RepairEvent
  /** The request that lists the models, relative to the address of the API, and how to read its answer. */
  list: { path: string; headers(key: string): Record<string, string> } & Pick<
    ModelListRequest,
    'readIds' | 'refusesKey'
  >
}

/** Declares the provider of a service with an API key, whose settings are `apiKey`, `baseUrl` and `headers`. */
export function defineHostedProvider(service: HostedService): Provider<HostedConfig> {
  const { name, description, keyVariable, list } = service
  return defineProvider<HostedConfig>({
    name,
    description,
    config: configOf(service),
    async models({ apiKey, baseUrl, headers }) {
      const create = await service.load()
      return create({
        ...(apiKey && { apiKey }),
        ...(baseUrl && { baseURL: baseUrl }),
        ...(headers && { headers }),
        fetch: createStreamFetch(service.repair),
      })
    },
    pricing: ({ baseUrl = service.baseUrl }) => ({ url: baseUrl }),
    service: { keyVariables: [keyVariable], ...service.service },
    listModels({ apiKey, baseUrl = service.baseUrl, headers }, { env }) {
      const key = apiKey ?? env[keyVariable]
      if (!key) throw new AuthError(`it needs an API key; set apiKey, or ${keyVariable}`)
      return {
        url: `${baseUrl.replace(/\/$/, '')}/${list.path}`,
        headers: { ...list.headers(key), ...headers },
        readIds: list.readIds,
        ...(list.refusesKey && { refusesKey: list.refusesKey }),
      }
    },
  })
}

export type HostedConfig = Static<ReturnType<typeof configOf>>

const configOf = ({ baseUrl, keyVariable }: Pick<HostedService, 'baseUrl' | 'keyVariable'>) =>
  Type.Object(
    {
      apiKey: Type.Optional(
        Type.String({ secret: true, description: `API key. Default: the environment variable ${keyVariable}.` }),
      ),
      baseUrl: Type.Optional(
        Type.String({
          pattern: '^https?://',
          // Not filled in: the package reads it from a variable of its own if it is not set.
          fallback: baseUrl,
          description: `Base URL of the API. Default: ${baseUrl}.`,
        }),
      ),
      headers: RequestHeaders,
    },
    { additionalProperties: false },
  )
