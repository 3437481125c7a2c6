// The tools that there are: opened from their toolsets, found by name, closed together; some come and go while the
// gateway runs.
import { reasonOf, toolFault } from '../loader/verify.ts'
import type { Log, OpenedToolset, ExtensionContext, Tool, Toolset } from '../plugin.ts'
import { type Check, compileCheck } from '../typebox.ts'
import { withDeadline } from './deadline.ts'

/** One tool, with what it needs to run. */
export interface RegisteredTool {
  tool: Tool
  /** Name of the toolset that brought it. */
  toolset: string
  /** The toolset's own log, signal and state. */
  context: ExtensionContext
  /** The check of its arguments, compiled when first asked for. Throws when the schema cannot be compiled. */
  check(): Check
}

/** What is known of a tool that may come later. */
export interface ExpectedTool extends Pick<Tool, 'name' | 'group'> {
  toolset: string
}

export interface ToolRegistry {
  /** Names are case-sensitive. */
  find(name: string): RegisteredTool | undefined
  /**
   * All tools, by name. It is the same array until tools come or go: whoever works something out from it knows by that
   * when it is stale.
   */
  list(): readonly RegisteredTool[]
  /** Tools that may come later; their names may hold `*`. */
  expected: readonly ExpectedTool[]
  /**
   * What was left out at the start and why, a sentence each; what is left out later is told in the log of its toolset.
   */
  problems: readonly string[]
  close(): Promise<void>
}

export interface ToolRegistryDeps {
  toolsets: Iterable<Toolset<never>>
  /** The settings of a toolset: its section of `tools`. */
  settings: (toolset: string) => unknown
  /** Makes the context of one toolset. */
  context: (toolset: string) => ExtensionContext
  /** Aborts when there is no use any more in waiting for a toolset to open. */
  stopping?: AbortSignal
}

/**
 * Opens every toolset at once. A toolset that fails, a tool with a fault or with a name that is taken: left out, and
 * named in `problems`.
 */
export async function openToolRegistry({
  toolsets,
  settings,
  context,
  stopping,
}: ToolRegistryDeps): Promise<ToolRegistry> {
  let opened: LiveToolset[] = []
  let index = createIndex(opened)
  const onOffer = ({ toolset, log }: Offer): void => {
    index = createIndex(opened)
    for (const clash of index.clashes) if (clash.entry.toolset === toolset) log.warn({ toolset }, clashSentence(clash))
  }
  // All that may throw comes before the first of them opens.
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
    problems: [...opened.flatMap(({ problems }) => problems), ...index.clashes.map(clashSentence)],
    close: async () => void (await Promise.allSettled(opened.map((toolset) => toolset.close()))),
  }
}

interface Clash {
  entry: RegisteredTool
  taken: RegisteredTool
}

/**
 * The first toolset that has a tool of a name keeps it; tools that are there to stay go before those that come and go.
 */
function createIndex(opened: readonly LiveToolset[]) {
  const entries = new Map<string, RegisteredTool>()
  const clashes: Clash[] = []
  for (const entry of [...opened.flatMap(({ fixed }) => fixed), ...opened.flatMap(({ late }) => late())]) {
    const taken = entries.get(entry.tool.name)
    if (taken) clashes.push({ entry, taken })
    else entries.set(entry.tool.name, entry)
  }
  return { entries, clashes, sorted: [...entries.values()].toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1)) }
}

const clashSentence = ({ entry: { tool, toolset }, taken }: Clash): string =>
  `The tool "${tool.name}" of the toolset "${toolset}" is left out: the toolset "${taken.toolset}" has one of that name; rename one of them.`

interface LiveToolset {
  fixed: readonly RegisteredTool[]
  /** What it offers at this moment. */
  late: () => readonly RegisteredTool[]
  expected: readonly ExpectedTool[]
  problems: readonly string[]
  close(): Promise<void>
}

interface Offer {
  toolset: string
  log: Log
}

interface Opening {
  settings: unknown
  context: ExtensionContext
  onOffer: (offer: Offer) => void
  stopping: AbortSignal | undefined
}

/** Longest that a toolset may take to open, in milliseconds: the start waits for it. */
const openMs = 30_000
/** Longest that one may take to close: it must not hold up the stop. */
const closeMs = 3_000

async function openToolset(
  toolset: Toolset<never>,
  { settings, context, onOffer, stopping }: Opening,
): Promise<LiveToolset> {
  const { name, tools = [] } = toolset
  const entriesOf = (sound: readonly Tool[]) => sound.map((tool) => createEntry(tool, { toolset: name, context }))
  let late: readonly RegisteredTool[] = []
  const offer = (offered: readonly Tool[]): void => {
    // Not compiled before the first call: a long list of a server must not hold up everybody.
    const { sound, problems } = sift(name, offered, { compile: false })
    for (const problem of problems) context.log.warn({ toolset: name }, problem)
    late = entriesOf(sound)
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
    const { sound, problems } = sift(name, live?.tools ?? [], { compile: true })
    const expected = expectedTools(toolset, settings)
    return {
      fixed: entriesOf([...tools, ...sound]),
      late: () => late,
      expected,
      problems,
      close: () => closeInTime(live, { toolset: name, log: context.log }),
    }
  } catch (error) {
    // Nobody waits any more for one that opens after all: it is closed at once.
    void Promise.resolve(opening).then(
      (late) => closeInTime(late, { toolset: name, log: context.log }),
      () => undefined,
    )
    return {
      fixed: [],
      late: () => [],
      expected: [],
      problems: [`The toolset "${name}" is left out: it could not be opened (${reasonOf(error)}).`],
      close: async () => {},
    }
  }
}

async function closeInTime(live: OpenedToolset | undefined, { toolset, log }: Offer): Promise<void> {
  const limits = {
    signals: [],
    ms: closeMs,
    reason: () => new Error(`it did not close within ${closeMs / 1000} seconds`),
  }
  try {
    await withDeadline(limits, () => live?.close())
  } catch (error) {
    log.warn({ toolset, reason: reasonOf(error) }, 'a toolset could not be closed')
  }
}

/** What a toolset says of its tools without being opened. */
export const expectedTools = (toolset: Toolset<never>, settings: unknown): ExpectedTool[] =>
  ((toolset as Toolset).expected?.(settings) ?? []).map(({ name, group }) => ({ name, group, toolset: toolset.name }))

/** Tools that were declared are verified when their file is loaded; those that a connection brought, here. */
function sift(
  toolset: string,
  tools: readonly Tool[],
  { compile }: { compile: boolean },
): { sound: Tool[]; problems: string[] } {
  const faults = new Map(tools.map((tool) => [tool, toolFault(tool, compile)]))
  const problems = [...faults.values()].flatMap((fault) =>
    fault ? [`A tool of the toolset "${toolset}" is left out: ${fault}.`] : [],
  )
  return { sound: tools.filter((tool) => !faults.get(tool)), problems }
}

function createEntry(tool: Tool, { toolset, context }: Pick<RegisteredTool, 'toolset' | 'context'>): RegisteredTool {
  let compiled: Check | undefined
  return { tool, toolset, context, check: () => (compiled ??= compileCheck(tool.args)) }
}
