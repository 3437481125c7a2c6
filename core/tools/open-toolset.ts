// Keeps one toolset open, checks its tools, and follows those that come and go.
import { untilAborted } from '../deadline.ts'
import { toolFault } from '../loader/verify.ts'
import type { ExtensionContext, Log, Tool, Toolset, ToolsetContext } from '../plugin/plugin.ts'
import { createSupervisor } from '../reconnect.ts'
import { type Check, compileCheck } from '../typebox.ts'

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
  /** Removes secrets from a text. */
  redact: ((text: string) => string) | undefined
  stopping: AbortSignal | undefined
}

/** Time limit for opening a toolset: the start waits for it. */
const openMs = 30_000

/** Resolves after the first attempt, however it ends. */
export async function openToolset(toolset: Toolset<never>, opening: Opening): Promise<LiveToolset> {
  const { name, tools = [] } = toolset
  const { settings, context, onChange, redact, stopping } = opening
  const label: ToolsetLog = { toolset: name, log: context.log }
  const createEntries = (valid: readonly Tool[]) => valid.map((tool) => createEntry(tool, { toolset: name, context }))
  const warn = (problem: string): void => context.log.warn({ toolset: name }, problem)
  const problems: string[] = []
  let report: (problem: string) => unknown = (problem) => problems.push(problem)
  let permanent: readonly RegisteredTool[] = []
  let offered: readonly RegisteredTool[] = []

  function offer(candidates: readonly Tool[]): void {
    // Schemas are compiled by the first call, because compiling a long list would block the gateway.
    const { valid, problems: faults } = validateTools(name, candidates, { compile: false })
    faults.forEach(warn)
    offered = createEntries(valid)
    onChange(label)
  }

  const supervisor = createSupervisor({
    fields: { toolset: name },
    openMs,
    open: async ({ signal }) => {
      signal.addEventListener('abort', () => offer([]), { once: true })
      const offerWhileOpen: ToolsetContext['offer'] = (candidates) => !signal.aborted && offer(candidates)
      const live = await (toolset as Toolset).open?.(settings, { ...context, signal, offer: offerWhileOpen })
      return {
        ...validateTools(name, live?.tools ?? [], { compile: true }),
        close: async () => await live?.close(),
      }
    },
    onOpened: ({ valid, problems: faults }) => {
      permanent = createEntries([...tools, ...valid])
      faults.forEach((fault) => report(fault))
      onChange(label)
    },
    ...(redact && { redact }),
    log: context.log,
    messages: {
      opened: 'toolset opened',
      failed: 'toolset could not be opened; it is tried again',
      refused: 'toolset refused by its service; it waits for other settings',
    },
    isQuiet: true,
  })

  function state(): ToolsetState {
    const { state: current, reason } = supervisor.health()
    if (current === 'connected') return { toolset: name, state: 'open' }
    return {
      toolset: name,
      state: current === 'unauthorized' ? 'unauthorized' : 'failing',
      ...(reason !== undefined && { reason }),
    }
  }

  const first = supervisor.open()
  await (stopping ? untilAborted(first, stopping).catch(() => void supervisor.standBy('the gateway stops')) : first)
  const { state: now, reason } = state()
  if (now !== 'open') {
    const next = now === 'unauthorized' ? 'change its settings' : 'it is tried again'
    problems.push(`The toolset "${name}" is left out: it could not be opened (${reason}); ${next}.`)
  }
  report = warn
  return {
    permanent: () => permanent,
    offered: () => offered,
    expected: expectedTools(toolset, settings),
    problems,
    state,
    close: supervisor.close,
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
