// Where models come from: services with their keys in the environment, servers on this machine, and the options.
import { usualUrl } from '../../config/local-servers.ts'
import { suggest } from '../../config/nearest.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { Changes, SetupContext, SetupOptions } from './context.ts'
import { reference } from './variables.ts'

export interface HostedProvider {
  /** The provider, and the name of its section. */
  kind: string
  title: string
  /** Variables that may hold the key. */
  variables: readonly string[]
  /** A model to suggest. */
  model: string
}

export const hostedProviders: readonly HostedProvider[] = [
  { kind: 'anthropic', title: 'Anthropic', variables: ['ANTHROPIC_API_KEY'], model: 'claude-sonnet-4-5' },
  { kind: 'openai', title: 'OpenAI', variables: ['OPENAI_API_KEY'], model: 'gpt-5.2' },
  {
    kind: 'google',
    title: 'Google Gemini',
    variables: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    model: 'gemini-2.5-flash',
  },
]

export const builtinModel = 'builtin/rules'

/** The name of the variable that holds the provider's key, if one is set. */
export const keyVariable = ({ variables }: HostedProvider, env: NodeJS.ProcessEnv): string | undefined =>
  variables.find((name) => env[name])

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
  const kind = kindOf(name, options, context)
  if (kind === 'builtin') return modelChanges({ name }, modelId)
  const baseUrl = url ?? (kind === 'openai-compatible' ? serverUrl(name, context) : undefined)
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
function kindOf(name: string, { provider, baseUrl }: ModelOptions, { extensions }: SetupContext): string {
  const kinds = [...extensions.providers.keys()]
  if (provider !== undefined && !kinds.includes(provider)) {
    const fix = suggest(provider, kinds, `use one of ${kinds.join(', ')}.`)
    throw new CommandError(`--provider is "${provider}", which is not a provider; ${fix}`)
  }
  if (provider !== undefined) return provider
  if (kinds.includes(name)) return name
  if (baseUrl !== undefined || usualUrl(name) !== undefined) return 'openai-compatible'
  throw new CommandError(
    `--model names the provider "${name}", which is not known; give --base-url if it is a server with OpenAI's API, ` +
      `or --provider with one of ${kinds.join(', ')}.`,
  )
}

const serverUrl = (name: string, { localServers }: SetupContext): string | undefined =>
  localServers.find((server) => server.name === name)?.url ?? usualUrl(name)

function apiKeyOf(kind: string, { apiKeyEnv }: ModelOptions, { env }: SetupContext): string | undefined {
  const hosted = hostedProviders.find((one) => one.kind === kind)
  const variable = apiKeyEnv ?? (hosted && keyVariable(hosted, env))
  if (variable !== undefined && env[variable]) return reference(variable)
  if (apiKeyEnv !== undefined)
    throw new CommandError(`--api-key-env names the environment variable ${apiKeyEnv}, which is not set; set it first.`)
  if (hosted === undefined) return undefined
  throw new CommandError(
    `The provider ${kind} needs an API key; set ${hosted.variables[0]}, or name another variable with --api-key-env.`,
  )
}
