// Where models come from: services with their keys in the environment, servers on this machine, and the options.
import { type KnownServer, listKnownServers } from '../../config/local-servers.ts'
import { suggest } from '../../config/nearest.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { ModelService } from '../../plugin/plugin.ts'
import type { Changes, SetupContext, SetupOptions } from './context.ts'
import { reference } from './variables.ts'

export const builtinModel = 'builtin/rules'

/** The name of the variable that holds the provider's key, if one is set. */
export const keyVariable = ({ keyVariables }: ModelService, env: NodeJS.ProcessEnv): string | undefined =>
  keyVariables.find((name) => env[name])

interface ModelSource {
  /** The name of the provider's section. */
  name: string
  /** The section; absent for the built-in provider. */
  section?: Readonly<Record<string, unknown>>
}

export const modelChanges = ({ name, section }: ModelSource, modelId: string): Changes => ({
  agents: { defaults: { model: `${name}/${modelId}` } },
  ...(section && { providers: { [name]: section } }),
})

type ModelOptions = Pick<SetupOptions, 'provider' | 'model' | 'baseUrl' | 'apiKeyEnv'>

/** The changes that the options ask for, or undefined if they name no model. `hasKey`: another option gives the key. */
export function readModelOptions(
  options: ModelOptions,
  { context, hasKey }: { context: SetupContext; hasKey(name: string): boolean },
): Changes | undefined {
  const { model, provider, baseUrl: url, apiKeyEnv } = options
  if (model === undefined) {
    const given = Object.entries({ provider, 'base-url': url, 'api-key-env': apiKeyEnv })
    const [option] = given.find(([, value]) => value !== undefined) ?? []
    if (option === undefined) return undefined
    throw new CommandError(`--${option} has no effect without a model; add --model <provider>/<model>.`)
  }
  const { name, modelId } = splitModel(model, provider)
  const server = listKnownServers(context.extensions.providers).find((one) => one.name === name)
  const kind = kindOf(name, { ...options, server }, context)
  if (kind === 'builtin') return modelChanges({ name }, modelId)
  const baseUrl = url ?? (server?.kind === kind ? server.baseUrl : undefined)
  const apiKey = hasKey(name) ? undefined : apiKeyOf(kind, options, context)
  return modelChanges({ name, section: { kind, ...(baseUrl && { baseUrl }), ...(apiKey && { apiKey }) } }, modelId)
}

function splitModel(model: string, provider: string | undefined): { name: string; modelId: string } {
  const [, name, modelId] = /^([^/]+)\/(.+)$/.exec(model.trim()) ?? []
  if (name !== undefined && modelId !== undefined) return { name, modelId }
  if (provider !== undefined && model.trim() !== '') return { name: provider, modelId: model.trim() }
  throw new CommandError('--model must be <provider>/<model>, such as ollama/llama3.2, or be given with --provider.')
}

/** A name of no provider is that of a server with OpenAI's API. */
function kindOf(
  name: string,
  { provider, baseUrl, server }: ModelOptions & { server: KnownServer | undefined },
  { extensions }: SetupContext,
): string {
  const kinds = [...extensions.providers.keys()]
  if (provider !== undefined && !kinds.includes(provider)) {
    const fix = suggest(provider, kinds, `use one of ${kinds.join(', ')}.`)
    throw new CommandError(`--provider is "${provider}", which is not a provider; ${fix}`)
  }
  if (provider !== undefined) return provider
  if (kinds.includes(name)) return name
  if (server) return server.kind
  if (baseUrl !== undefined) return 'openai-compatible'
  throw new CommandError(
    `--model names the provider "${name}", which is not known; give --base-url if it is a server with OpenAI's API, ` +
      `or --provider with one of ${kinds.join(', ')}.`,
  )
}

function apiKeyOf(kind: string, { apiKeyEnv }: ModelOptions, { env, extensions }: SetupContext): string | undefined {
  const service = extensions.providers.get(kind)?.service
  const variable = apiKeyEnv ?? (service && keyVariable(service, env))
  if (variable !== undefined && env[variable]) return reference(variable)
  if (apiKeyEnv !== undefined)
    throw new CommandError(`--api-key-env names the environment variable ${apiKeyEnv}, which is not set; set it first.`)
  if (service === undefined) return undefined
  throw new CommandError(
    `The provider ${kind} needs an API key; set ${service.keyVariables[0]}, or name another variable with --api-key-env.`,
  )
}
