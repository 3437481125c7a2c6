// Warns about mappings and presets that no request reaches, because an earlier one matches all of their requests.
import { dotted } from '../../typebox.ts'
import { normalizeHookName } from '../hooks-path.ts'
import { presetSection } from '../schema/hooks.ts'
import type { MappingConfig } from '../schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

interface Entry {
  keys: readonly string[]
  id: string | undefined
  /** The conditions of the match, each as text; empty: any request matches. */
  conditions: readonly string[]
}

/** An earlier entry matches all requests of a later one if its conditions are a subset of the later one's. */
export function* unreachedWarnings(context: RuleContext): Iterable<RuleFinding> {
  const firsts = new Map<string, Entry>()
  for (const entry of entriesOf(context)) {
    const before = subsetsOf(entry.conditions).flatMap((subset) => firsts.get(keyOf(subset)) ?? [])[0]
    if (before) yield unreached(entry, before)
    else firsts.set(keyOf(entry.conditions), entry)
  }
}

function unreached({ keys }: Entry, before: Entry): RuleFinding {
  const name = `${dotted(before.keys)}${before.id === undefined ? '' : ` (${JSON.stringify(before.id)})`}`
  return {
    keys,
    problem: `is never reached, because ${name} matches all of its requests; change the order, or remove one of them`,
    warning: true,
  }
}

/** Mappings and presets, in the order in which they are tried. */
function entriesOf({ config: { hooks }, extensions }: RuleContext): Entry[] {
  // Invalid entries have left holes, which `flatMap` skips.
  const mappings = hooks.mappings.flatMap(({ id, match = {} }, index) => ({
    keys: ['hooks', 'mappings', String(index)],
    id,
    conditions: conditionsOf(match),
  }))
  const presets = hooks.presets.flatMap((name, index) => {
    const { match } = { ...extensions.presets.get(name)?.mapping, ...presetSection(hooks, name) } as MappingConfig
    return {
      keys: ['hooks', 'presets', String(index)],
      id: undefined,
      conditions: conditionsOf({ ...match, path: name }),
    }
  })
  return [...mappings, ...presets]
}

const conditionsOf = (match: NonNullable<MappingConfig['match']>): string[] =>
  Object.entries(match).map(([key, value]) => JSON.stringify([key, key === 'path' ? normalizeHookName(value) : value]))

/** There are at most two conditions, so at most four subsets. */
function subsetsOf([condition, ...others]: readonly string[]): string[][] {
  if (condition === undefined) return [[]]
  const without = subsetsOf(others)
  return [...without, ...without.map((subset) => [condition].concat(subset))]
}

const keyOf = (conditions: readonly string[]): string => conditions.toSorted().join('\n')
