// The tools that are known without opening anything, and the names in a policy that mean none of them.
import type { Config } from '../config/schema.ts'
import { isOwnToolset, type Extensions } from '../loader/registry.ts'
import type { Toolset } from '../plugin.ts'
import { expectedTools } from './registry.ts'
import { findUnmatchedNames, type IdleName } from './unmatched-names.ts'
import type { PolicyTool } from './names.ts'

/**
 * Whether every toolset says which tools it brings. What an opened one brings beside is known to the running gateway
 * alone.
 */
export const declareTheirTools = (toolsets: Iterable<Toolset<never>>): boolean =>
  [...toolsets].every(({ open, expected }) => !open || expected)

/** Nothing where a toolset must be opened first: any name may be one of its tools. */
export function findUndeclaredNames(config: Config, extensions: Pick<Extensions, 'toolsets' | 'sources'>): IdleName[] {
  const toolsets = [...extensions.toolsets.values()]
  if (!declareTheirTools(toolsets)) return []
  const known = toolsets.flatMap((toolset) => (toolset.tools ?? []).map((tool) => viewOf(tool, toolset.name)))
  const expected = toolsets.flatMap((toolset) =>
    expectedTools(toolset, config.tools[toolset.name] ?? {}).map((tool) => viewOf(tool, toolset.name)),
  )
  return findUnmatchedNames(config, { known, expected })

  function viewOf({ name, group }: Pick<PolicyTool, 'name' | 'group'>, toolset: string): PolicyTool {
    return { name, group, toolset, foreign: !isOwnToolset(extensions, toolset) }
  }
}
