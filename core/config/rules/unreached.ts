// Warns about mappings and presets that no request reaches, because an earlier one matches all of their requests.
import { dotted } from '../../typebox.ts'
import { normalizeHookName } from '../hooks-path.ts'
import { presetSection } from '../schema/hooks.ts'
import type { MappingConfig } from '../schema/schema.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

interface Entry {
  keys: readonly string[]
  id: string | undefined
  /** The conditions on the path and the source, each as text. Without any condition, any request matches. */
  conditions: readonly string[]
  /** The conditions on headers and the payload, each as text. */
  more: ReadonlySet<string>
}

/** An earlier entry matches all requests of a later one if its conditions are a subset of the later one's. */
export function* unreachedWarnings(context: RuleContext): Iterable<RuleFinding> {
  const reached = new Map<string, Entry[]>()
  for (const entry of entriesOf(context)) {
    const candidates = subsetsOf(entry.conditions).flatMap((subset) => reached.get(keyOf(subset)) ?? [])
    const before = candidates.find(({ more }) => more.isSubsetOf(entry.more))
    if (before) yield unreached(entry, before)
    else reached.set(keyOf(entry.conditions), [...(reached.get(keyOf(entry.conditions)) ?? []), entry])
  }
}

function unreached({ keys }: Entry, before: Entry): RuleFinding {
  const name = `${dotted(before.keys)}${before.id === undefined ? '' : ` (${JSON.stringify(before.id)})`}`
  return {
    keys,
    code: 'mapping_unreached',
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
    ...conditionsOf(match),
  }))
  const presets = hooks.presets.flatMap((name, index) => {
    const { match } = { ...extensions.presets.get(name)?.mapping, ...presetSection(hooks, name) } as MappingConfig
    return {
      keys: ['hooks', 'presets', String(index)],
      id: undefined,
      ...conditionsOf({ ...match, path: name }),
    }
  })
  return [...mappings, ...presets]
}

function conditionsOf({
  headers = {},
  payload = {},
  ...match
}: NonNullable<MappingConfig['match']>): Pick<Entry, 'conditions' | 'more'> {
  const conditions = Object.entries(match).map(([key, value]) =>
    JSON.stringify([key, key === 'path' ? normalizeHookName(value) : value]),
  )
  const ofHeaders = Object.entries(headers).map(([name, condition]) => JSON.stringify([name.toLowerCase(), condition]))
  const ofPayload = Object.entries(payload).map(([path, condition]) => JSON.stringify(['payload', path, condition]))
  return { conditions, more: new Set([...ofHeaders, ...ofPayload]) }
}

/** There are at most two conditions, so at most four subsets. */
function subsetsOf([condition, ...others]: readonly string[]): string[][] {
  if (condition === undefined) return [[]]
  const without = subsetsOf(others)
  return [...without, ...without.map((subset) => [condition].concat(subset))]
}

const keyOf = (conditions: readonly string[]): string => conditions.toSorted().join('\n')
