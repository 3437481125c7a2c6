// The tools that there are: opened from their toolsets, found by name, closed together.
import { reasonOf, toolFault } from '../loader/verify.ts'
import type { PartContext, Tool, Toolset } from '../plugin.ts'
import { type Check, compileCheck } from '../typebox.ts'
import { withDeadline } from './deadline.ts'

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
  settings: (toolset: string) => unknown
  /** Makes the context of one toolset. */
  context: (toolset: string) => PartContext
}

/** Opens every toolset at once. A toolset that fails, a tool with a fault or with a name that is taken: left out, and named in `problems`. */
export async function openCatalogue({ toolsets, settings, context }: CatalogueDeps): Promise<Catalogue> {
  const opening = Array.from(toolsets, (toolset) => openToolset(toolset, { settings: settings(toolset.name), context: context(toolset.name) }))
  const opened = await Promise.all(opening)
  const entries = new Map<string, CatalogueEntry>()
  const problems = opened.flatMap(({ problems }) => problems)
  for (const entry of opened.flatMap((toolset) => toolset.entries)) {
    const taken = entries.get(entry.tool.name)
    if (taken) problems.push(takenSentence(entry, taken))
    else entries.set(entry.tool.name, entry)
  }
  const sorted = [...entries.values()].toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
  return {
    find: (name) => entries.get(name),
    list: () => sorted,
    problems,
    close: async () => void (await Promise.allSettled(opened.map((toolset) => toolset.close()))),
  }
}

const takenSentence = ({ tool, toolset }: CatalogueEntry, taken: CatalogueEntry): string =>
  `The tool "${tool.name}" of the toolset "${toolset}" is left out: the toolset "${taken.toolset}" has one of that name; rename one of them.`

interface OpenedToolset {
  entries: CatalogueEntry[]
  problems: string[]
  close: () => Promise<void>
}

/** Longest that a toolset may take to open, in milliseconds: the start waits for it. */
const openMs = 30_000

async function openToolset(toolset: Toolset<never>, { settings, context }: { settings: unknown; context: PartContext }): Promise<OpenedToolset> {
  const { name, tools = [] } = toolset
  const limits = { signals: [context.signal], ms: openMs, reason: () => new Error(`it did not open within ${openMs / 1000} seconds`) }
  try {
    const live = await withDeadline(limits, () => (toolset as Toolset).open?.(settings, context))
    const { sound, problems } = sift(name, live?.tools ?? [])
    const entries = [...tools, ...sound].map((tool) => createEntry(tool, { toolset: name, context }))
    return { entries, problems, close: async () => live?.close() }
  } catch (error) {
    return { entries: [], problems: [`The toolset "${name}" is left out: it could not be opened (${reasonOf(error)}).`], close: async () => {} }
  }
}

/** Tools that were declared are verified when their file is loaded; those that a connection brought, here. */
function sift(toolset: string, tools: readonly Tool[]): { sound: Tool[]; problems: string[] } {
  const faults = new Map(tools.map((tool) => [tool, toolFault(tool, true)]))
  const problems = [...faults.values()].flatMap((fault) => (fault ? [`A tool of the toolset "${toolset}" is left out: ${fault}.`] : []))
  return { sound: tools.filter((tool) => !faults.get(tool)), problems }
}

function createEntry(tool: Tool, { toolset, context }: Pick<CatalogueEntry, 'toolset' | 'context'>): CatalogueEntry {
  let compiled: Check | undefined
  return { tool, toolset, context, check: () => (compiled ??= compileCheck(tool.args)) }
}
