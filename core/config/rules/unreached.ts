// Warnings about mappings and presets that no request reaches, because one before them takes every request that they
// could have.
import { dotted } from '../../typebox.ts'
import { normalizeHookName } from '../hooks-path.ts'
import { presetSection } from '../schema/hooks.ts'
import type { MappingConfig } from '../schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

interface Entry {
  keys: readonly string[]
  id: string | undefined
  /** What a request must fulfil, each as text; none: any request does. */
  conditions: readonly string[]
}

/**
 * An entry before it takes all of its requests where its conditions are some of those here, or the same. Looked up, so
 * that long lists cost little.
 */
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
    problem: `is never reached, since ${name} takes every request that it could have; change the order, or take one of the two out`,
    warning: true,
  }
}

/** In the order in which they are tried. */
function entriesOf({ config: { hooks }, extensions }: RuleContext): Entry[] {
  // Entries that do not fit the schema have left holes, which `flatMap` skips.
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

/** Of two conditions four, so that this stays small. */
function subsetsOf([condition, ...others]: readonly string[]): string[][] {
  if (condition === undefined) return [[]]
  const without = subsetsOf(others)
  return [...without, ...without.map((subset) => [condition].concat(subset))]
}

const keyOf = (conditions: readonly string[]): string => conditions.toSorted().join('\n')
