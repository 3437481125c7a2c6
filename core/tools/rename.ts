// Renames tools as the operator says in `tools.rename`, so that two toolsets may have tools of the same name.
import type { Tool } from '../plugin/plugin.ts'

/** The new names, by toolset and then by the name that the toolset declares. `*` stands for each of its other tools. */
export type Renames = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Longest tool name that model services accept, in characters. */
export const maxToolName = 64

/** The name that a tool has in the gateway. A name of an expected tool may contain `*`. */
export function resolveToolName(renames: Renames, { toolset, name }: { toolset: string; name: string }): string {
  const rules = Object.hasOwn(renames, toolset) ? renames[toolset] : undefined
  const find = (key: string): string | undefined => (rules && Object.hasOwn(rules, key) ? rules[key] : undefined)
  return find(name) ?? find('*')?.replace('*', () => name) ?? name
}

/** The same tool under another name. */
export function renameTool(tool: Tool, name: string): Tool {
  if (name === tool.name) return tool
  const { effects } = tool
  return {
    ...tool,
    name,
    // A tool may be an object whose functions rely on `this`.
    execute: (...call) => tool.execute(...call),
    ...(typeof effects === 'function' && { effects: (...call) => effects.call(tool, ...call) }),
  }
}
