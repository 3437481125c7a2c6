// Finds names in policy lists that match no tool, which are most often typing errors.
import { nearest } from '../config/nearest.ts'
import type { ChannelGroupsConfig, Config, ToolPolicyConfig } from '../config/schema/schema.ts'
import { isOwnToolset, type Extensions } from '../loader/registry.ts'
import type { Toolset } from '../plugin/plugin.ts'
import { normalizeName, isNamed, matches, type PolicyTool } from './names.ts'
import { groups } from './profiles.ts'
import { expectedTools } from './registry.ts'

type PolicyConfig = Pick<Config, 'tools' | 'agents' | 'gateway' | 'channels'>

/** A name that matches no tool: the keys of its list, and the problem as the rest of a sentence. */
export interface UnmatchedName {
  keys: readonly string[]
  problem: string
}

/** Names of `expected` tools may contain `*`. */
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
  // A built-in group is valid even if none of its tools are loaded.
  const matchesAny = (name: string): boolean =>
    knownGroups.includes(normalizeName(name)) ||
    [...known, ...expected].some((tool) => matches(name, tool)) ||
    isExpected(name)
  const isExpected = (name: string): boolean => expected.some((tool) => matches(tool.name, { name }))
  const isTool = (name: string): boolean => known.some((tool) => isNamed(name, tool)) || isExpected(name)
  return [
    ...listsIn(policiesOf(config), []).flatMap((list) => describeUnmatched(list, { isKnown: matchesAny, names: all })),
    ...listsIn(config.gateway.tools, ['gateway', 'tools']).flatMap((list) =>
      describeUnmatched(list, { isKnown: isTool, names: certain.map(({ name }) => name) }),
    ),
  ]
}

const knownGroups: readonly string[] = ['plugins', ...Object.keys(groups)].map((group) => `group:${group}`)

interface List {
  keys: readonly string[]
  names: readonly string[]
}

interface Known {
  isKnown: (name: string) => boolean
  /** Names to suggest. */
  names: readonly string[]
}

function describeUnmatched({ keys, names }: List, known: Known): UnmatchedName[] {
  return names
    .filter((name) => !known.isKnown(name))
    .map((name) => {
      const suggestion = nearest(name, known.names)
      const fix = suggestion
        ? `did you mean ${JSON.stringify(suggestion)}?`
        : 'check the spelling, and whether its plugin is loaded.'
      return { keys, problem: `names ${JSON.stringify(name)}, but no loaded tool has this name; ${fix}` }
    })
}

/** The policy lists of each section, without settings of toolsets and accounts, which may have the same keys. */
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

/** All lists below a value; each contains names. */
function listsIn(value: unknown, keys: readonly string[]): List[] {
  if (Array.isArray(value)) return [{ keys, names: value as string[] }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => listsIn(child, [...keys, key]))
}

/** Whether every toolset declares its tools, so that names can be checked without opening one. */
export const declareAllTools = (toolsets: Iterable<Toolset<never>>): boolean =>
  [...toolsets].every(({ open, expected }) => !open || expected)

/** Empty if a toolset must be opened to know its tools, because any name may be one of them. */
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
