// The tools that there are: opened from their toolsets, found by name, closed together.
import type { PartContext, Tool, Toolset } from '../plugin.ts'
import { type Check, compileCheck } from '../typebox.ts'

/** One tool, with what it needs to run. */
export interface CatalogueEntry {
  tool: Tool
  /** Name of the toolset that brought it. */
  toolset: string
  /** The toolset's own log, signal and state. */
  context: PartContext
  /** The check of its arguments, compiled when first asked for. Throws when the schema cannot be compiled. */
  check(): Check
}

export interface Catalogue {
  /** Names are case-sensitive. */
  find(name: string): CatalogueEntry | undefined
  /** All tools, by name. */
  list(): readonly CatalogueEntry[]
  /** What was left out and why, a sentence each. */
  problems: readonly string[]
  close(): Promise<void>
}

export interface CatalogueDeps {
  toolsets: Iterable<Toolset<never>>
  /** The settings of a toolset: its section of `tools`. */
  settings(toolset: string): unknown
  /** Makes the context of one toolset. */
  context(toolset: string): PartContext
}

/** Opens every toolset at once. One that fails, or a tool whose name is taken, is left out and named in `problems`. */
export async function openCatalogue({ toolsets, settings, context }: CatalogueDeps): Promise<Catalogue> {
  const opened = await Promise.all(
    Array.from(toolsets, (toolset) => openToolset(toolset, { settings: settings(toolset.name), context: context(toolset.name) })),
  )
  const entries = new Map<string, CatalogueEntry>()
  const problems: string[] = []
  for (const { name, tools, context, problem } of opened) {
    if (problem) problems.push(problem)
    for (const tool of tools) {
      const taken = entries.get(tool.name)
      if (taken)
        problems.push(`The tool "${tool.name}" of the toolset "${name}" is left out: the toolset "${taken.toolset}" has one of that name; rename one of them.`)
      else entries.set(tool.name, createEntry(tool, { toolset: name, context }))
    }
  }
  const sorted = [...entries.values()].toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
  return {
    find: (name) => entries.get(name),
    list: () => sorted,
    problems,
    close: async () => void (await Promise.allSettled(opened.map(({ close }) => close()))),
  }
}

interface OpenedToolset {
  name: string
  tools: readonly Tool[]
  context: PartContext
  problem?: string
  close(): Promise<void>
}

async function openToolset(toolset: Toolset<never>, { settings, context }: { settings: unknown; context: PartContext }): Promise<OpenedToolset> {
  const { name, tools = [], open } = toolset as Toolset
  try {
    const live = await open?.(settings, context)
    return { name, tools: [...tools, ...(live?.tools ?? [])], context, close: async () => live?.close() }
  } catch (error) {
    context.log.error({ error }, 'the toolset could not be opened')
    return {
      name,
      tools: [],
      context,
      problem: `The toolset "${name}" could not be opened; its tools are left out. See the gateway's log.`,
      close: async () => {},
    }
  }
}

function createEntry(tool: Tool, { toolset, context }: Pick<CatalogueEntry, 'toolset' | 'context'>): CatalogueEntry {
  let compiled: Check | undefined
  return { tool, toolset, context, check: () => (compiled ??= compileCheck(tool.args)) }
}
