// Checks references to models (the provider, the list of allowed models, unique aliases), and sections of providers.
import { parseDuration } from '../../kit/duration.ts'
import { nearest } from '../nearest.ts'
import { durations } from '../schema/formats.ts'
import type { ModelEntry } from '../schema/schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export interface ModelKey {
  keys: readonly string[]
  /** The allowed models; absent: any. */
  allowed: readonly ModelEntry[] | undefined
}

/** Needs no configuration. As the default, it does not have to be in the list of allowed models. */
const builtinModel = 'builtin/rules'

/** Checks the model of an agent or a heartbeat: `<provider>/<model>`, or an alias of its list. */
export function* modelRules(model: string, { keys, allowed }: ModelKey, context: RuleContext): Iterable<RuleFinding> {
  const entries = allowed?.flatMap((entry) => [entryOf(entry)])
  if (entries?.some(({ alias }) => alias === model)) return
  const problem = findReferenceProblem(model, context)
  if (problem) yield { keys, problem }
  else if (!entries || entries.some(({ id }) => id === model)) return
  else if (model !== builtinModel)
    yield { keys, problem: 'must be in the list of allowed models ("models"); add it or choose another one' }
  else
    yield {
      keys,
      problem: `is ${builtinModel}, which is not in the list of allowed models; set a model of the list`,
      warning: true,
    }
}

export function* modelListRules(
  models: readonly ModelEntry[] | undefined,
  keys: readonly string[],
  context: RuleContext,
): Iterable<RuleFinding> {
  const aliases = new Set<string>()
  for (const [index, entry] of Object.entries(models ?? [])) {
    const { id, alias } = entryOf(entry)
    const keysOfEntry = [...keys, index]
    const problem = findReferenceProblem(id, context)
    // The provider may be configured later. Until then, requests for the model are rejected.
    if (problem)
      yield {
        keys: typeof entry === 'string' ? keysOfEntry : [...keysOfEntry, 'id'],
        problem,
        warning: id.includes('/'),
      }
    if (alias === undefined) continue
    if (aliases.has(alias))
      yield { keys: [...keysOfEntry, 'alias'], problem: 'must be unique, but another model of the list has it too' }
    if (alias.includes('/'))
      yield {
        keys: [...keysOfEntry, 'alias'],
        problem: 'must not contain "/", because it would look like <provider>/<model>',
      }
    aliases.add(alias)
  }
}

function findReferenceProblem(model: string, { config, extensions }: RuleContext): string | undefined {
  const [, provider] = /^([^/]+)\/./.exec(model.trim()) ?? []
  if (provider === undefined)
    return 'must be <provider>/<model>, such as "builtin/rules", or an alias from the list of allowed models'
  const names = ['builtin', ...Object.keys(config.providers)]
  if (names.includes(provider)) return undefined
  const suggestion = nearest(provider, names)
  const fix = suggestion
    ? `did you mean "${suggestion}/…"?`
    : `add a section providers.${provider} with a kind ` +
      `(${[...extensions.providers.keys()].join(', ') || 'none is loaded'})`
  return `uses the provider "${provider}", which is not configured; ${fix}`
}

const entryOf = (entry: ModelEntry) =>
  typeof entry === 'string'
    ? { id: entry.trim(), alias: undefined }
    : { id: entry.id.trim(), alias: entry.alias?.trim() }

/** Checks the keys of the gateway in the sections of providers. */
export function* providerRules({ config }: RuleContext): Iterable<RuleFinding> {
  for (const [name, { firstTokenTimeout }] of Object.entries(config.providers))
    if (firstTokenTimeout !== undefined && parseDuration(firstTokenTimeout) === undefined)
      yield {
        keys: ['providers', name, 'firstTokenTimeout'],
        problem: durations.silence,
      }
}
