// The rules of model references: a known provider, an entry in the list where there is one, an alias that is unique.
import { nearest } from '../nearest.ts'
import type { ModelEntry } from '../schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export interface ModelKey {
  keys: readonly string[]
  /** The list that the model must be in; absent: any. */
  allowed: readonly ModelEntry[] | undefined
}

/** The model that is there without any settings: it may stay the default beside a list that lacks it. */
const builtinModel = 'builtin/rules'

/** One model that an agent or a heartbeat uses: `<provider>/<model>`, or an alias of its list. */
export function* modelRules(model: string, { keys, allowed }: ModelKey, context: RuleContext): Iterable<RuleFinding> {
  const entries = allowed?.flatMap((entry) => [entryOf(entry)])
  if (entries?.some(({ alias }) => alias === model)) return
  const misfit = referenceProblem(model, context)
  if (misfit) yield { keys, problem: misfit }
  else if (!entries || entries.some(({ id }) => id === model)) return
  else if (model !== builtinModel)
    yield { keys, problem: 'must be in the list of allowed models, "models"; add it there or choose one of them' }
  else
    yield {
      keys,
      problem: `is ${builtinModel}, which the list of allowed models lacks; name one of the list to use a real model`,
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
    const misfit = referenceProblem(id, context)
    // A provider may be set up later; until then a request for the model is refused.
    if (misfit)
      yield {
        keys: typeof entry === 'string' ? keysOfEntry : [...keysOfEntry, 'id'],
        problem: misfit,
        warning: id.includes('/'),
      }
    if (alias === undefined) continue
    if (aliases.has(alias))
      yield { keys: [...keysOfEntry, 'alias'], problem: 'must be unique, but another model of the list has it too' }
    if (alias.includes('/'))
      yield {
        keys: [...keysOfEntry, 'alias'],
        problem: 'must not contain "/", which would make it a <provider>/<model>',
      }
    aliases.add(alias)
  }
}

function referenceProblem(model: string, { config, extensions }: RuleContext): string | undefined {
  const [, provider] = /^([^/]+)\/./.exec(model.trim()) ?? []
  if (provider === undefined)
    return 'must be <provider>/<model>, such as "builtin/rules", or an alias of the list of allowed models'
  const names = ['builtin', ...Object.keys(config.providers)]
  if (names.includes(provider)) return undefined
  const meant = nearest(provider, names)
  const fix = meant
    ? `did you mean "${meant}/…"?`
    : `add a section providers.${provider} with a kind (${[...extensions.providers.keys()].join(', ') || 'none is loaded'})`
  return `names the provider "${provider}", which is not configured; ${fix}`
}

const entryOf = (entry: ModelEntry) =>
  typeof entry === 'string'
    ? { id: entry.trim(), alias: undefined }
    : { id: entry.id.trim(), alias: entry.alias?.trim() }
