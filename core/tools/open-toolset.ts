// Opens one toolset, tries again if it fails, checks its tools, and follows those that come and go.
import { isAuthError } from '../plugin/errors.ts'
import { describeThrown, firstLineOf } from '../errors.ts'
import { toolFault } from '../loader/verify.ts'
import { createOutage } from '../outage.ts'
import type { ExtensionContext, Log, OpenedToolset, Tool, Toolset } from '../plugin/plugin.ts'
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

/**
 * - `failing`: it could not be opened. The gateway keeps trying.
 * - `unauthorized`: its credentials are refused. The gateway waits for a change of the configuration.
 */
export interface ToolsetState {
  toolset: string
  state: (typeof toolsetStates)[number]
  /** Why it is not open. */
  reason?: string
}
export const toolsetStates = ['open', 'failing', 'unauthorized'] as const

export interface LiveToolset {
  /** The tools that it has had since it was opened. */
  permanent: () => readonly RegisteredTool[]
  /** The tools that it offers at the moment. */
  offered: () => readonly RegisteredTool[]
  expected: readonly ExpectedTool[]
  /** What was left out at startup and why. */
  problems: readonly string[]
  state(): ToolsetState
  close(): Promise<void>
}

export interface ToolsetLog {
  toolset: string
  log: Log
}

export interface Opening {
  settings: unknown
  context: ExtensionContext
  /** Called when its tools have changed. */
  onChange: (changed: ToolsetLog) => void
  stopping: AbortSignal | undefined
}

/** Time limit for opening a toolset: the start waits for it. */
const openMs = 30_000
/** Time limit for closing a toolset, so that it cannot delay the stop. */
const closeMs = 3_000
const firstRetryMs = 1_000
const longestRetryMs = 60_000

/** Resolves after the first attempt, however it ends. */
export async function openToolset(toolset: Toolset<never>, opening: Opening): Promise<LiveToolset> {
  const { name, tools = [] } = toolset
  const { settings, context, onChange } = opening
  const label: ToolsetLog = { toolset: name, log: context.log }
  const outage = createOutage(context.log, {
    level: 'warn',
    failed: 'toolset could not be opened; it is tried again',
    worked: 'toolset opened',
    describe: describeThrown,
  })
  const createEntries = (valid: readonly Tool[]) => valid.map((tool) => createEntry(tool, { toolset: name, context }))
  let permanent: readonly RegisteredTool[] = []
  let offered: readonly RegisteredTool[] = []
  let state: ToolsetState = { toolset: name, state: 'open' }
  let opened: OpenedToolset | undefined
  let retry: NodeJS.Timeout | undefined
  let isClosed = false

  function offer(candidates: readonly Tool[]): void {
    // Schemas are compiled by the first call, because compiling a long list would block the gateway.
    const { valid, problems } = validateTools(name, candidates, { compile: false })
    for (const problem of problems) context.log.warn({ toolset: name }, problem)
    offered = createEntries(valid)
    onChange(label)
  }

  /** @returns what was left out */
  async function open(waitMs: number): Promise<string[]> {
    try {
      const live = await openInTime(toolset, { ...opening, offer })
      if (isClosed) return await closeInTime(live, label).then(() => [])
      const { valid, problems } = validateTools(name, live?.tools ?? [], { compile: true })
      opened = live
      permanent = createEntries([...tools, ...valid])
      state = { toolset: name, state: 'open' }
      return problems
    } catch (error) {
      if (isClosed || context.signal.aborted) return []
      return onFailed(error, waitMs)
    }
  }

  function onFailed(error: unknown, waitMs: number): string[] {
    offered = []
    const reason = isAuthError(error) ? error.message : firstLineOf(error)
    const refused = `The toolset "${name}" is left out: it could not be opened (${reason})`
    state = { toolset: name, state: isAuthError(error) ? 'unauthorized' : 'failing', reason }
    if (isAuthError(error)) return [`${refused}; change its settings.`]
    retry = setTimeout(() => void openAgain(Math.min(waitMs * 2, longestRetryMs)), waitMs).unref()
    outage.failed(error, { toolset: name })
    return [`${refused}; it is tried again.`]
  }

  async function openAgain(waitMs: number): Promise<void> {
    const problems = await open(waitMs)
    if (isClosed) return
    if (state.state === 'open') outage.worked({ toolset: name })
    if (state.state !== 'failing') for (const problem of problems) context.log.warn({ toolset: name }, problem)
    onChange(label)
  }

  const problems = await open(firstRetryMs)
  return {
    permanent: () => permanent,
    offered: () => offered,
    expected: expectedTools(toolset, settings),
    problems,
    state: () => state,
    close: async () => {
      isClosed = true
      clearTimeout(retry)
      await closeInTime(opened, label)
    },
  }
}

type Offer = (candidates: readonly Tool[]) => void

/** If the toolset opens after its time limit, it is closed at once. */
async function openInTime(
  toolset: Toolset<never>,
  { settings, context, stopping, offer }: Opening & { offer: Offer },
): Promise<OpenedToolset | undefined> {
  const limits = {
    signals: stopping ? [context.signal, stopping] : [context.signal],
    ms: openMs,
    reason: () => new Error(`it did not open within ${openMs / 1000} seconds`),
  }
  let opening: Promise<OpenedToolset> | undefined
  try {
    return await withDeadline(limits, () => (opening = (toolset as Toolset).open?.(settings, { ...context, offer })))
  } catch (error) {
    void Promise.resolve(opening).then(
      (late) => closeInTime(late, { toolset: toolset.name, log: context.log }),
      () => undefined,
    )
    throw error
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
