// Asks which provider and which of its models to use.
import { autocomplete } from '@clack/prompts'
import type { LocalServer } from '../../../config/local-servers.ts'
import { childSchema } from '../../../config/walk.ts'
import { type JsonSchema, Type } from '../../../typebox.ts'
import type { Changes, SetupContext } from '../context.ts'
import { listModelIds } from '../list-models.ts'
import { type HostedProvider, hostedProviders, keyVariable, modelChanges } from '../model-sources.ts'
import { reference } from '../variables.ts'
import type { Choice } from '../../../plugin/command.ts'
import { answerOf, choose } from '../../prompts.ts'
import { askSecret, askText } from './ask.ts'

type ChooseSource = () => Promise<Changes>

/** What was found comes first. The built-in model is offered, and never chosen by itself. */
export async function chooseModel(context: SetupContext): Promise<Changes> {
  const { localServers, env } = context
  const hosted = hostedProviders.filter(({ kind }) => context.extensions.providers.has(kind))
  const [withKey, withoutKey] = [true, false].map((has) =>
    hosted.filter((provider) => (keyVariable(provider, env) !== undefined) === has),
  ) as [HostedProvider[], HostedProvider[]]
  const source = await choose<ChooseSource>('Which provider runs the model?', [
    ...localServers.map((server) => localChoice(server)),
    ...[...withKey, ...withoutKey].map((provider) => hostedChoice(provider, context)),
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

const localChoice = ({ name, title, url, models }: LocalServer): Choice<ChooseSource> => ({
  value: async () =>
    modelChanges({ name, section: { kind: 'openai-compatible', baseUrl: url } }, await askModelId(models)),
  label: `${title}, on this machine`,
  hint: url,
})

function hostedChoice(provider: HostedProvider, context: SetupContext): Choice<ChooseSource> {
  const { env, extensions } = context
  const { kind, title, model } = provider
  const variable = keyVariable(provider, env)
  const schema = settingSchema(extensions.providers.get(kind)?.config, 'apiKey')
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
