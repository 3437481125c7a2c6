// The tool registry: opens the toolsets, finds tools by name, and follows tools that come and go at runtime.
import type { ExtensionContext, Toolset } from '../plugin/plugin.ts'
import {
  type ExpectedTool,
  type LiveToolset,
  openToolset,
  type RegisteredTool,
  type ToolsetLog,
  type ToolsetState,
} from './open-toolset.ts'
import type { Renames } from './rename.ts'

export { type ExpectedTool, expectedTools, type RegisteredTool } from './open-toolset.ts'

export interface ToolRegistry {
  /** Names are case-sensitive. */
  find(name: string): RegisteredTool | undefined
  /** All tools, sorted by name. The array changes its identity exactly when tools come or go. */
  list(): readonly RegisteredTool[]
  /** Every toolset, and whether it is open. */
  states(): ToolsetState[]
  /** Tools that may become available later; names may contain `*`. */
  expected: readonly ExpectedTool[]
  /** What was left out at startup and why, one sentence each. What is left out later is only logged. */
  problems: readonly string[]
  close(): Promise<void>
}

export interface ToolRegistryDeps {
  toolsets: Iterable<Toolset<never>>
  /** The settings of a toolset: its section in `tools`. */
  settings: (toolset: string) => unknown
  /** Creates the context of one toolset. */
  context: (toolset: string) => ExtensionContext
  /** What `tools.rename` says. */
  renames?: Renames | undefined
  /** Whether tests verify the tools that a toolset opens, so that the start need not. Absent: no toolset's. */
  isVerified?: (toolset: string) => boolean
  /** Removes secrets from a text. */
  redact?: (text: string) => string
  /** Aborts when toolsets that are still opening are no longer needed. */
  stopping?: AbortSignal
}

/**
 * Opens all toolsets at the same time. A toolset that fails, an invalid tool, and a tool whose name is taken are left
 * out and reported in `problems`.
 */
export async function openToolRegistry({
  toolsets,
  settings,
  context,
  renames = {},
  isVerified = () => false,
  ...shared
}: ToolRegistryDeps): Promise<ToolRegistry> {
  let opened: LiveToolset[] = []
  let index = createIndex(opened)
  const onChange = ({ toolset, log }: ToolsetLog): void => {
    index = createIndex(opened)
    for (const clash of index.clashes) if (clash.entry.toolset === toolset) log.warn({ toolset }, describeClash(clash))
  }
  // Contexts and settings, which may throw, are created before the first toolset opens.
  const openings = Array.from(toolsets, (toolset) => ({
    toolset,
    opening: {
      settings: settings(toolset.name),
      context: context(toolset.name),
      isVerified: isVerified(toolset.name),
      renames,
      onChange,
      ...shared,
    },
  }))
  opened = await Promise.all(openings.map(({ toolset, opening }) => openToolset(toolset, opening)))
  index = createIndex(opened)
  return {
    find: (name) => index.entries.get(name),
    list: () => index.sorted,
    states: () => opened.map((toolset) => toolset.state()),
    expected: opened.flatMap(({ expected }) => expected),
    problems: [...opened.flatMap(({ problems }) => problems), ...index.clashes.map(describeClash)],
    close: async () => void (await Promise.allSettled(opened.map((toolset) => toolset.close()))),
  }
}

interface Clash {
  entry: RegisteredTool
  taken: RegisteredTool
}

/** The first toolset that has a tool of a name keeps it; permanent tools precede those that come and go. */
function createIndex(opened: readonly LiveToolset[]) {
  const entries = new Map<string, RegisteredTool>()
  const clashes: Clash[] = []
  for (const entry of [
    ...opened.flatMap(({ permanent }) => permanent()),
    ...opened.flatMap(({ offered }) => offered()),
  ]) {
    const taken = entries.get(entry.tool.name)
    if (taken) clashes.push({ entry, taken })
    else entries.set(entry.tool.name, entry)
  }
  return { entries, clashes, sorted: [...entries.values()].toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1)) }
}

const describeClash = ({ entry: { tool, declaredName, toolset }, taken }: Clash): string =>
  `The tool "${tool.name}" of the toolset "${toolset}" is left out: the toolset "${taken.toolset}" has a tool of that ` +
  `name; rename it with \`tools.rename: { '${toolset}': { ${declaredName}: '…' } }\`.`
