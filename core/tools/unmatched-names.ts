// Finds names in policy lists that match no tool, which are most often typing errors.
import { suggest } from '../config/nearest.ts'
import type { ChannelGroupsConfig, Config, ToolPolicyConfig } from '../config/schema/schema.ts'
import { isOwnToolset, type Extensions } from '../loader/registry.ts'
import type { Toolset } from '../plugin/plugin.ts'
import { normalizeName, isNamed, matches, type PolicyTool } from './names.ts'
import { groups } from './profiles.ts'
import { expectedTools } from './registry.ts'
import { type Renames, resolveToolName } from './rename.ts'

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
  const renamed = new Map([...known, ...expected].map(({ name, declaredName = name }) => [declaredName, name]))
  return [
    ...listsIn(policiesOf(config), []).flatMap((list) =>
      describeUnmatched(list, { isKnown: matchesAny, names: all, renamed }),
    ),
    ...listsIn(config.gateway.tools, ['gateway', 'tools']).flatMap((list) =>
      describeUnmatched(list, { isKnown: isTool, names: certain.map(({ name }) => name), renamed }),
    ),
    ...findUnmatchedRenames(config.tools.rename ?? {}, [...known, ...expected]),
  ]
}

/** Toolsets and tools that are renamed but do not exist. */
function findUnmatchedRenames(renames: Renames, tools: readonly PolicyTool[]): UnmatchedName[] {
  const check = 'check the spelling, and whether its plugin is loaded.'
  return Object.entries(renames).flatMap(([toolset, rules]): UnmatchedName[] => {
    const own = tools.filter((tool) => tool.toolset === toolset)
    const keys = ['tools', 'rename', toolset]
    if (own.length === 0) return [{ keys, problem: `is no toolset with tools; ${check}` }]
    const hasTool = (name: string): boolean =>
      own.some((tool) => matches(tool.declaredName ?? tool.name, { name }) || tool.declaredName === name)
    return Object.keys(rules)
      .filter((name) => name !== '*' && !hasTool(name))
      .map((name) => ({ keys: [...keys, name], problem: `is no tool of the toolset "${toolset}"; ${check}` }))
  })
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
  /** The new names of tools, by the names that their toolsets give them. */
  renamed: ReadonlyMap<string, string>
}

function describeUnmatched({ keys, names }: List, known: Known): UnmatchedName[] {
  return names
    .filter((name) => !known.isKnown(name))
    .map((name) => {
      const renamed = known.renamed.get(normalizeName(name))
      const fix = renamed
        ? `did you mean ${JSON.stringify(renamed)}?`
        : suggest(name, known.names, 'check the spelling, and whether its plugin is loaded.')
      return { keys, problem: `names ${JSON.stringify(name)}, but no loaded tool has this name; ${fix}` }
    })
}

/** The policy lists of each section, without settings of toolsets and accounts, which may have the same keys. */
function policiesOf({ tools, agents, channels, gateway }: PolicyConfig): object {
  const { defaults: _defaults, ...own } = agents
  return {
    tools: { ...policyOf(tools), subagents: tools.subagents, effects: Object.keys(tools.effects ?? {}) },
    agents: mapValues(own, (agent) => ({ tools: policyOf(agent.tools ?? {}) })),
    gateway: {
      auth: { clients: Object.fromEntries(gateway.auth.clients.map(({ tools: lists }, at) => [at, { tools: lists }])) },
    },
    channels: mapValues(channels, ({ groups, accounts = {} }) => ({ groups, accounts: mapValues(accounts, groupsOf) })),
  }
}

const policyOf = ({ allow, alsoAllow, ask, deny, byProvider, byOrigin }: ToolPolicyConfig) => ({
  allow,
  alsoAllow,
  ask,
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

/** Tools that a toolset before has under the same name, so that the gateway leaves them out. */
export function findToolClashes(config: Pick<Config, 'tools'>, { toolsets }: Pick<Extensions, 'toolsets'>) {
  const renames = config.tools.rename ?? {}
  const taken = new Map<string, string>()
  return [...toolsets.values()].flatMap(({ name: toolset, tools = [], expected }) =>
    namesOf({ tools, expected }, config.tools[toolset] ?? {}).flatMap(
      (declaredName): (UnmatchedName & { toolset: string })[] => {
        const name = resolveToolName(renames, { toolset, name: declaredName })
        const owner = taken.get(name)
        if (owner === undefined) taken.set(name, toolset)
        if (owner === undefined) return []
        const problem =
          `leaves two tools with the name "${name}", of the toolsets "${owner}" and "${toolset}", so the second one is ` +
          `left out; rename it: { '${toolset}': { ${declaredName}: '…' } }`
        return [{ keys: ['tools', 'rename'], problem, toolset }]
      },
    ),
  )
}

/** The names of the tools that a toolset declares, and of those that it expects to open. */
function namesOf({ tools = [], expected }: Pick<Toolset<never>, 'tools' | 'expected'>, settings: unknown): string[] {
  const later = expected?.(settings as never) ?? []
  return [...new Set([...tools, ...later].map(({ name }) => name))].filter((name) => !name.includes('*'))
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
  const renames = config.tools.rename ?? {}
  const known = toolsets.flatMap(({ name: toolset, tools = [] }) =>
    tools.map(({ name, group }) =>
      viewOf({ name: resolveToolName(renames, { toolset, name }), declaredName: name, group }, toolset),
    ),
  )
  const expected = toolsets.flatMap((toolset) =>
    expectedTools(toolset, { settings: config.tools[toolset.name] ?? {}, renames }).map((tool) =>
      viewOf(tool, toolset.name),
    ),
  )
  return findUnmatchedNames(config, { known, expected })

  function viewOf(tool: Pick<PolicyTool, 'name' | 'declaredName' | 'group'>, toolset: string): PolicyTool {
    const { name, declaredName, group } = tool
    return { name, declaredName, group, toolset, foreign: !isOwnToolset(extensions, toolset) }
  }
}
