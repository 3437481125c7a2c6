// Lists the models that a configuration names, and finds those whose price is not known.
import { presetSection } from '../config/schema/hooks.ts'
import type { Config, ModelEntry } from '../config/schema/schema.ts'
import { isTemplate } from '../config/template/template.ts'
import { silentLog } from '../loader/extension-log.ts'
import type { Provider } from '../plugin/plugin.ts'
import { type Agent, createAgents } from './agents.ts'
import { createModels, refOf } from './models.ts'

export interface ModelReference {
  /** The key of the configuration. */
  where: string
  /** `<provider>/<model>`. */
  model: string
  /** The agent whose model it is. Absent for a hook, which may choose its agent with each request. */
  agentId?: string
  /** The id of the mapping, or the name of the preset. */
  hook?: string
}

/** In the order of the agents; a model that is named several times is listed several times. */
export function listModelReferences(config: Config, dir: string): ModelReference[] {
  const agents = createAgents(config, dir).all
  return [...agents.flatMap((agent) => referencesOf(agent, config)), ...referencesOfHooks(config)]
}

/**
 * Finds the models that the configuration names and whose price is not known: neither the configuration nor the price
 * table has one. Budgets in US dollars do not count their calls.
 */
export async function findUnpricedModels(
  { config, dir }: { config: Config; dir: string },
  providers: ReadonlyMap<string, Provider<never>>,
): Promise<ModelReference[]> {
  const models = createModels({ config, providers, log: silentLog })
  const agents = createAgents(config, dir)
  const hasPrice = async ({ model, agentId }: ModelReference): Promise<boolean> => {
    try {
      const { costOf } = models.resolve(model, agents.get(agentId))
      return (await costOf({ inputTokens: 1, outputTokens: 1 })) !== undefined
    } catch {
      // Its provider is not configured, which is reported elsewhere.
      return true
    }
  }
  const references = listModelReferences(config, dir)
  const arePriced = await Promise.all(references.map(hasPrice))
  return references.filter((_, index) => !arePriced[index])
}

function referencesOf({ id, model, heartbeat, models = [] }: Agent, { agents }: Config): ModelReference[] {
  const key = (name: 'model' | 'models' | 'heartbeat'): string =>
    `agents.${agents[id]?.[name] === undefined ? 'defaults' : id}.${name}`
  const named = [
    { where: key('model'), model },
    { where: `${key('heartbeat')}.model`, model: heartbeat.model ?? model },
  ]
  return [
    ...named.map(({ where, model: reference }) => ({ where, model: refOf(reference, { models }), agentId: id })),
    ...models.map((entry, index) => ({ where: `${key('models')}[${index}]`, model: idOf(entry), agentId: id })),
  ]
}

function referencesOfHooks({ hooks, agents }: Config): ModelReference[] {
  const ofMappings = hooks.mappings.map(({ id, model }, index) => ({
    where: `hooks.mappings[${index}].model`,
    model,
    hook: id ?? String(index),
  }))
  const ofPresets = hooks.presets.map((name) => ({
    where: `hooks.${name}.model`,
    model: presetSection(hooks, name).model,
    hook: name,
  }))
  return [...ofMappings, ...ofPresets].flatMap(({ model, ...reference }) =>
    model === undefined || isTemplate(model)
      ? []
      : [{ ...reference, model: refOf(model, { models: agents.defaults.models }) }],
  )
}

const idOf = (entry: ModelEntry): string => (typeof entry === 'string' ? entry : entry.id).trim()
