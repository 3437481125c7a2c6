// Warnings about mappings and presets that no request reaches, because one before them takes every request that they could have.
import { dotted } from '../../typebox.ts'
import { normalizeHookName } from '../hooks-path.ts'
import { presetSection } from '../schema/hooks.ts'
import type { MappingConfig } from '../schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

interface Entry {
  keys: readonly string[]
  id: string | undefined
  /** What a request must fulfil; nothing: any request does. */
  conditions: ReadonlyMap<string, string>
}

export function* unreachedWarnings(context: RuleContext): Iterable<RuleFinding> {
  const entries = entriesOf(context)
  for (const [index, entry] of entries.entries()) {
    const before = entries.slice(0, index).find((one) => covers(one, entry))
    if (!before) continue
    const name = `${dotted(before.keys)}${before.id === undefined ? '' : ` ("${before.id}")`}`
    yield {
      keys: entry.keys,
      problem: `is never reached, since ${name} takes every request that it could have; change the order, or take one of the two out`,
      warning: true,
    }
  }
}

/** In the order in which they are tried. */
function entriesOf({ config: { hooks }, parts }: RuleContext): Entry[] {
  // Entries that do not fit the schema have left holes, which `flatMap` skips.
  const mappings = hooks.mappings.flatMap(({ id, match = {} }, index) => ({
    keys: ['hooks', 'mappings', String(index)],
    id,
    conditions: conditionsOf(match),
  }))
  const presets = hooks.presets.flatMap((name, index) => {
    const { match } = { ...parts.presets.get(name)?.mapping, ...presetSection(hooks, name) } as MappingConfig
    return { keys: ['hooks', 'presets', String(index)], id: name, conditions: conditionsOf({ ...match, path: name }) }
  })
  return [...mappings, ...presets]
}

const conditionsOf = (match: NonNullable<MappingConfig['match']>): Entry['conditions'] =>
  new Map(Object.entries(match).map(([key, value]) => [key, JSON.stringify(key === 'path' ? normalizeHookName(value) : value)]))

const covers = (one: Entry, other: Entry): boolean => [...one.conditions].every(([key, value]) => other.conditions.get(key) === value)
