// Names in the lists of the policy that mean no tool: most often a slip of the pen, and a list that says less than it
// seems to.
import { nearest } from '../config/nearest.ts'
import type { ChannelGroupsConfig, Config, ToolPolicyConfig } from '../config/schema.ts'
import { isOwnToolset, type Extensions } from '../loader/registry.ts'
import type { Toolset } from '../plugin.ts'
import { normalizeName, isNamed, matches, type PolicyTool } from './names.ts'
import { groups } from './profiles.ts'
import { expectedTools } from './registry.ts'

type PolicyConfig = Pick<Config, 'tools' | 'agents' | 'gateway' | 'channels'>

/** A name that means no tool: the keys of its list, and the rest of a sentence about it. */
export interface UnmatchedName {
  keys: readonly string[]
  problem: string
}

/** Of a tool that is expected later the name may hold `*`. */
export function findUnmatchedNames(
  config: PolicyConfig,
  { known, expected }: { known: readonly PolicyTool[]; expected: readonly PolicyTool[] },
): UnmatchedName[] {
  const certain = [...known, ...expected.filter(({ name }) => !name.includes('*'))]
  const all = [
    ...certain.map(({ name }) => name),
    ...knownGroups,
    ...certain.flatMap(({ group, toolset }) => [...(group ? [`group:${group}`] : []), ...(toolset ? [toolset] : [])]),
  ]
  // A group that we know is no slip, whether or not its tools are loaded.
  const means = (name: string): boolean =>
    knownGroups.includes(normalizeName(name)) ||
    [...known, ...expected].some((tool) => matches(name, tool)) ||
    mayCome(name)
  const mayCome = (name: string): boolean => expected.some((tool) => matches(tool.name, { name }))
  const isTool = (name: string): boolean => known.some((tool) => isNamed(name, tool)) || mayCome(name)
  return [
    ...listsIn(policiesOf(config), []).flatMap((list) => unmatched(list, { means, names: all })),
    ...listsIn(config.gateway.tools, ['gateway', 'tools']).flatMap((list) =>
      unmatched(list, { means: isTool, names: certain.map(({ name }) => name) }),
    ),
  ]
}

const knownGroups: readonly string[] = ['plugins', ...Object.keys(groups)].map((group) => `group:${group}`)

interface List {
  keys: readonly string[]
  names: readonly string[]
}

interface Known {
  means: (name: string) => boolean
  /** What a slip may have meant. */
  names: readonly string[]
}

function unmatched({ keys, names }: List, known: Known): UnmatchedName[] {
  return names
    .filter((name) => !known.means(name))
    .map((name) => {
      const meant = nearest(name, known.names)
      const fix = meant
        ? `did you mean ${JSON.stringify(meant)}?`
        : 'check the spelling, and whether its plugin is loaded.'
      return { keys, problem: `names ${JSON.stringify(name)}, but no loaded tool is called so; ${fix}` }
    })
}

/**
 * Of every section only what belongs to the policy: the settings of a toolset or of an account may have keys of the
 * same names.
 */
function policiesOf({ tools, agents, channels }: PolicyConfig): object {
  const { defaults: _defaults, ...own } = agents
  return {
    tools: { ...policyOf(tools), subagents: tools.subagents, effects: Object.keys(tools.effects ?? {}) },
    agents: mapValues(own, (agent) => ({ tools: policyOf(agent.tools ?? {}) })),
    channels: mapValues(channels, ({ groups, accounts = {} }) => ({ groups, accounts: mapValues(accounts, groupsOf) })),
  }
}

const policyOf = ({ allow, alsoAllow, deny, byProvider, byOrigin }: ToolPolicyConfig) => ({
  allow,
  alsoAllow,
  deny,
  byProvider,
  byOrigin,
})
const groupsOf = ({ groups }: { groups?: ChannelGroupsConfig }) => ({ groups })

const mapValues = <In, Out>(record: Readonly<Record<string, In>>, change: (value: In) => Out): Record<string, Out> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

/** Every list beneath a place: here all lists are of names. */
function listsIn(value: unknown, keys: readonly string[]): List[] {
  if (Array.isArray(value)) return [{ keys, names: value as string[] }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => listsIn(child, [...keys, key]))
}

/**
 * Whether every toolset says which tools it brings. What an opened one brings beside is known to the running gateway
 * alone.
 */
export const declareAllTools = (toolsets: Iterable<Toolset<never>>): boolean =>
  [...toolsets].every(({ open, expected }) => !open || expected)

/** Nothing where a toolset must be opened first: any name may be one of its tools. */
export function findUndeclaredNames(
  config: Config,
  extensions: Pick<Extensions, 'toolsets' | 'sources'>,
): UnmatchedName[] {
  const toolsets = [...extensions.toolsets.values()]
  if (!declareAllTools(toolsets)) return []
  const known = toolsets.flatMap((toolset) => (toolset.tools ?? []).map((tool) => viewOf(tool, toolset.name)))
  const expected = toolsets.flatMap((toolset) =>
    expectedTools(toolset, config.tools[toolset.name] ?? {}).map((tool) => viewOf(tool, toolset.name)),
  )
  return findUnmatchedNames(config, { known, expected })

  function viewOf({ name, group }: Pick<PolicyTool, 'name' | 'group'>, toolset: string): PolicyTool {
    return { name, group, toolset, foreign: !isOwnToolset(extensions, toolset) }
  }
}
