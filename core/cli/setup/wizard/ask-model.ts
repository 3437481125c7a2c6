// Asks which provider and which of its models to use, and sends the model a message until it replies or is kept.
import { autocomplete, log } from '@clack/prompts'
import { isPlainId, type LocalServer } from '../../../config/local-servers.ts'
import { childSchema } from '../../../config/walk.ts'
import type { Choice } from '../../../plugin/command.ts'
import type { ModelService, Provider } from '../../../plugin/plugin.ts'
import { type JsonSchema, Type } from '../../../typebox.ts'
import { askModelServers } from '../../doctor/model-servers.ts'
import { answerOf, choose } from '../../prompts.ts'
import { canTry, describeModel } from '../attempts.ts'
import type { Changes, SetupContext, WizardContext } from '../context.ts'
import { createDraft, mergeChanges } from '../draft.ts'
import { keyVariable, modelChanges } from '../model-sources.ts'
import { hasAnswer } from '../option-answers.ts'
import { type ModelResult, tryModel } from '../try-model.ts'
import { reference, variableOf } from '../variables.ts'
import { askSecret, askText } from './ask.ts'

interface ModelAnswer {
  changes: Changes
  result?: ModelResult
}

/** Asks for no model if the options name one. The changes include those of the options. */
export async function askModel(context: WizardContext): Promise<ModelAnswer> {
  const { given, test } = context
  let changes = hasAnswer(given, 'agents', 'defaults', 'model')
    ? given
    : mergeChanges(given, await chooseModel(context))
  for (;;) {
    const result = test ? await sendMessage(changes, context) : undefined
    if (result === undefined) return { changes }
    if ('reply' in result) log.success(describeModel(result))
    else log.error(describeModel(result))
    const next = 'reply' in result ? 'keep' : await askWhatNext()
    if (next === 'keep') return { changes, result }
    if (next === 'other') changes = mergeChanges(given, await chooseModel(context))
  }
}

async function sendMessage(changes: Changes, context: WizardContext): Promise<ModelResult | undefined> {
  const { config } = await createDraft(changes, context)
  const { model } = config.agents.defaults
  if (!canTry(model)) return undefined
  log.step(`Sending a message to ${model}`)
  return await tryModel(config, context.extensions)
}

const askWhatNext = (): Promise<'other' | 'again' | 'keep'> =>
  choose('What next?', [
    { value: 'other', label: 'Choose another model' },
    { value: 'again', label: 'Try again' },
    { value: 'keep', label: 'Keep it nevertheless' },
  ])

type ChooseSource = () => Promise<Changes>

type HostedProvider = Provider & { service: ModelService }

const isHosted = (provider: Provider): provider is HostedProvider => provider.service !== undefined

/** What was found comes first. The built-in model is offered, and never chosen by itself. */
async function chooseModel(context: SetupContext): Promise<Changes> {
  const { localServers, env, extensions } = context
  const hosted = [...extensions.providers.values()].filter(isHosted)
  const hasKey = ({ service }: HostedProvider): boolean => keyVariable(service, env) !== undefined
  const source = await choose<ChooseSource>('Which provider runs the model?', [
    ...localServers.map((server) => localChoice(server)),
    ...hosted
      .toSorted((a, b) => Number(hasKey(b)) - Number(hasKey(a)))
      .map((provider) => hostedChoice(provider, context)),
    {
      value: () => chooseServer(context),
      label: "Another server with OpenAI's API",
    },
    {
      value: async () => modelChanges({ name: 'builtin' }, 'rules'),
      label: 'The built-in rules model: for trying things out, not a language model',
    },
  ])
  return await source()
}

const localChoice = ({ kind, name, title, baseUrl, models }: LocalServer): Choice<ChooseSource> => ({
  value: async () => modelChanges({ name, section: { kind, baseUrl } }, await askModelId(models)),
  label: `${title}, on this machine`,
  hint: baseUrl,
})

function hostedChoice(provider: HostedProvider, context: SetupContext): Choice<ChooseSource> {
  const { env } = context
  const { name: kind, config, service } = provider
  const { title, model } = service
  const variable = keyVariable(service, env)
  const schema = settingSchema(config, 'apiKey')
  return {
    value: async () => {
      const apiKey =
        variable === undefined
          ? await askSecret({ message: `The API key of ${title}`, schema, name: 'apiKey' }, env)
          : reference(variable)
      const ids = await listModelIds({ kind, apiKey: resolveReference(apiKey, env) }, context)
      return modelChanges({ name: kind, section: { kind, apiKey } }, await askModelId(ids, model))
    },
    label: variable === undefined ? `${title}, with an API key that you give` : `${title}, with ${variable}`,
  }
}

async function chooseServer(context: SetupContext): Promise<Changes> {
  const { extensions, env } = context
  const config = extensions.providers.get('openai-compatible')?.config
  const baseUrl = await askText({
    message: 'The address of the API, with its version',
    placeholder: 'https://openrouter.ai/api/v1',
    schema: settingSchema(config, 'baseUrl'),
    name: 'baseUrl',
  })
  const schema = settingSchema(config, 'apiKey')
  const apiKey = await askSecret({ message: 'Its API key; blank: none', schema, name: 'apiKey', isOptional: true }, env)
  const name = await askText({
    message: 'A name for it, as in <name>/<model>',
    initialValue: nameOf(baseUrl),
    schema: Type.String({ pattern: '^[^/\\s]+$' }),
    name: 'The name',
  })
  const server = { kind: 'openai-compatible', baseUrl }
  const ids = await listModelIds({ ...server, ...(apiKey && { apiKey: resolveReference(apiKey, env) }) }, context)
  const section = { ...server, ...(apiKey && { apiKey }) }
  return modelChanges({ name, section }, await askModelId(ids))
}

/** `https://openrouter.ai/api/v1` → `openrouter` */
function nameOf(url: string): string {
  const { hostname } = new URL(url)
  return /^[\d.:[\]]+$/.test(hostname) ? 'local' : (hostname.split('.').at(-2) ?? hostname)
}

const settingSchema = (config: JsonSchema | undefined, key: string): JsonSchema => childSchema(config, key) ?? {}

/** The key as the provider will get it. */
const resolveReference = (text: string, env: NodeJS.ProcessEnv): string =>
  text.replace(/^\$\{(\w+)\}$/, (_all, variable: string) => env[variable] ?? '').replaceAll('$${', () => '${')

/** How many models are listed without a search. */
const mostListed = 10

async function askModelId(ids: readonly string[], suggestion = ''): Promise<string> {
  if (ids.length === 0)
    return await askText({
      message: 'Which model?',
      initialValue: suggestion,
      schema: Type.String({ pattern: String.raw`\S`, description: 'The id of a model' }),
      name: 'The model',
    })
  const sorted = ids.toSorted((a, b) => Number(b === suggestion) - Number(a === suggestion))
  const options = sorted.map((id) => ({ value: id, label: id }))
  if (ids.length <= mostListed) return await choose('Which model?', options)
  return await answerOf<string>(
    autocomplete({ message: 'Which model? Type to search.', options, maxItems: mostListed }),
  )
}

interface ProviderSettings {
  kind: string
  baseUrl?: string
  apiKey?: string
}

/** Empty if the provider does not list them, for example because it refuses the key. */
async function listModelIds(settings: ProviderSettings, { extensions, env }: SetupContext): Promise<string[]> {
  // The libraries of the providers read the address from this variable, too.
  const baseUrl = settings.baseUrl ?? env[variableOf(settings.kind, 'baseUrl')]
  const section = { ...settings, ...(baseUrl && { baseUrl }) }
  const [answer] = await askModelServers(extensions.providers, { providers: { [settings.kind]: section } })
  // Google lists each id with and without this prefix.
  return [...new Set(answer?.ids)].filter((id) => isPlainId(id) && !id.startsWith('models/'))
}
