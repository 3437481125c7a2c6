// The tool registry: opens the toolsets, finds tools by name, and follows tools that come and go at runtime.
import { firstLineOf } from '../errors.ts'
import { toolFault } from '../loader/verify.ts'
import type { Log, OpenedToolset, ExtensionContext, Tool, Toolset } from '../plugin.ts'
import { type Check, compileCheck } from '../typebox.ts'
import { withDeadline } from './deadline.ts'

/** A tool and what it needs to run. */
export interface RegisteredTool {
  tool: Tool
  /** Name of the toolset that provides it. */
  toolset: string
  /** The toolset's own log, signal and state. */
  context: ExtensionContext
  /** The check of its arguments, compiled on first use. Throws if the schema cannot be compiled. */
  check(): Check
}

/** A tool that may become available later. */
export interface ExpectedTool extends Pick<Tool, 'name' | 'group'> {
  toolset: string
}

export interface ToolRegistry {
  /** Names are case-sensitive. */
  find(name: string): RegisteredTool | undefined
  /** All tools, sorted by name. The array changes its identity exactly when tools come or go. */
  list(): readonly RegisteredTool[]
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
  stopping,
}: ToolRegistryDeps): Promise<ToolRegistry> {
  let opened: LiveToolset[] = []
  let index = createIndex(opened)
  const onOffer = ({ toolset, log }: ToolsetLog): void => {
    index = createIndex(opened)
    for (const clash of index.clashes) if (clash.entry.toolset === toolset) log.warn({ toolset }, describeClash(clash))
  }
  // Contexts and settings, which may throw, are created before the first toolset opens.
  const openings = Array.from(toolsets, (toolset) => ({
    toolset,
    opening: { settings: settings(toolset.name), context: context(toolset.name), onOffer, stopping },
  }))
  opened = await Promise.all(openings.map(({ toolset, opening }) => openToolset(toolset, opening)))
  index = createIndex(opened)
  return {
    find: (name) => index.entries.get(name),
    list: () => index.sorted,
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
    ...opened.flatMap(({ permanent }) => permanent),
    ...opened.flatMap(({ offered }) => offered()),
  ]) {
    const taken = entries.get(entry.tool.name)
    if (taken) clashes.push({ entry, taken })
    else entries.set(entry.tool.name, entry)
  }
  return { entries, clashes, sorted: [...entries.values()].toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1)) }
}

const describeClash = ({ entry: { tool, toolset }, taken }: Clash): string =>
  `The tool "${tool.name}" of the toolset "${toolset}" is left out: ` +
  `the toolset "${taken.toolset}" has a tool of that name; rename one of them.`

interface LiveToolset {
  permanent: readonly RegisteredTool[]
  /** The tools that it offers at the moment. */
  offered: () => readonly RegisteredTool[]
  expected: readonly ExpectedTool[]
  problems: readonly string[]
  close(): Promise<void>
}

interface ToolsetLog {
  toolset: string
  log: Log
}

interface Opening {
  settings: unknown
  context: ExtensionContext
  onOffer: (offer: ToolsetLog) => void
  stopping: AbortSignal | undefined
}

/** Time limit for opening a toolset: the start waits for it. */
const openMs = 30_000
/** Time limit for closing a toolset, so that it cannot delay the stop. */
const closeMs = 3_000

async function openToolset(
  toolset: Toolset<never>,
  { settings, context, onOffer, stopping }: Opening,
): Promise<LiveToolset> {
  const { name, tools = [] } = toolset
  const createEntries = (valid: readonly Tool[]) => valid.map((tool) => createEntry(tool, { toolset: name, context }))
  let offered: readonly RegisteredTool[] = []
  const offer = (candidates: readonly Tool[]): void => {
    // Schemas are compiled by the first call, because compiling a long list would block the gateway.
    const { valid, problems } = validateTools(name, candidates, { compile: false })
    for (const problem of problems) context.log.warn({ toolset: name }, problem)
    offered = createEntries(valid)
    onOffer({ toolset: name, log: context.log })
  }
  let opening: Promise<OpenedToolset> | undefined
  const limits = {
    signals: stopping ? [context.signal, stopping] : [context.signal],
    ms: openMs,
    reason: () => new Error(`it did not open within ${openMs / 1000} seconds`),
  }
  try {
    const live = await withDeadline(
      limits,
      () => (opening = (toolset as Toolset).open?.(settings, { ...context, offer })),
    )
    const { valid, problems } = validateTools(name, live?.tools ?? [], { compile: true })
    const expected = expectedTools(toolset, settings)
    return {
      permanent: createEntries([...tools, ...valid]),
      offered: () => offered,
      expected,
      problems,
      close: () => closeInTime(live, { toolset: name, log: context.log }),
    }
  } catch (error) {
    // If the toolset opens after its time limit, it is closed at once.
    void Promise.resolve(opening).then(
      (opened) => closeInTime(opened, { toolset: name, log: context.log }),
      () => undefined,
    )
    return {
      permanent: [],
      offered: () => [],
      expected: [],
      problems: [`The toolset "${name}" is left out: it could not be opened (${firstLineOf(error)}).`],
      close: async () => {},
    }
  }
}

async function closeInTime(live: OpenedToolset | undefined, { toolset, log }: ToolsetLog): Promise<void> {
  const limits = {
    signals: [],
    ms: closeMs,
    reason: () => new Error(`it did not close within ${closeMs / 1000} seconds`),
  }
  try {
    await withDeadline(limits, () => live?.close())
  } catch (error) {
    log.warn({ toolset, reason: firstLineOf(error) }, 'a toolset could not be closed')
  }
}

/** The tools that a toolset declares without being opened. */
export const expectedTools = (toolset: Toolset<never>, settings: unknown): ExpectedTool[] =>
  ((toolset as Toolset).expected?.(settings) ?? []).map(({ name, group }) => ({ name, group, toolset: toolset.name }))

/** Verifies the tools of an opened toolset. The loader has verified those that a file declares. */
function validateTools(
  toolset: string,
  tools: readonly Tool[],
  { compile }: { compile: boolean },
): { valid: Tool[]; problems: string[] } {
  const faults = new Map(tools.map((tool) => [tool, toolFault(tool, compile)]))
  const problems = [...faults.values()].flatMap((fault) =>
    fault ? [`A tool of the toolset "${toolset}" is left out: ${fault}.`] : [],
  )
  return { valid: tools.filter((tool) => !faults.get(tool)), problems }
}

function createEntry(tool: Tool, { toolset, context }: Pick<RegisteredTool, 'toolset' | 'context'>): RegisteredTool {
  let compiled: Check | undefined
  return { tool, toolset, context, check: () => (compiled ??= compileCheck(tool.args)) }
}
