// Keeps one toolset open, checks its tools, and follows those that come and go.
import { untilAborted } from '../deadline.ts'
import { findToolFaults } from '../loader/verify.ts'
import type { ExtensionContext, Log, Tool, Toolset, ToolsetContext } from '../plugin/plugin.ts'
import { isAuthError } from '../plugin/errors.ts'
import { createSupervisor, stateReason } from '../reconnect.ts'
import { type Check, compileCheck } from '../typebox.ts'
import { matches } from './names.ts'
import { maxToolName, type Renames, renameTool, resolveToolName } from './rename.ts'

/** A tool and what it needs to run. */
export interface RegisteredTool {
  tool: Tool
  /** The name that the toolset gives it. The operator may have renamed it. */
  declaredName: string
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
  declaredName: string
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
  renames: Renames
  /** Whether tests verify the tools that it opens. */
  isVerified: boolean
  /** Called when its tools have changed. */
  onChange: (changed: ToolsetLog) => void
  /** Removes secrets from a text. */
  redact?: ((text: string) => string) | undefined
  stopping?: AbortSignal | undefined
}

/** Time limit for opening a toolset: the start waits for it. */
const openMs = 30_000

/** Resolves after the first attempt, however it ends. */
export async function openToolset(toolset: Toolset<never>, opening: Opening): Promise<LiveToolset> {
  const { name, tools = [] } = toolset
  const { settings, context, renames, isVerified, onChange, redact, stopping } = opening
  const label: ToolsetLog = { toolset: name, log: context.log }
  const warn = (problem: string): void => context.log.warn({ toolset: name }, problem)
  const problems: string[] = []
  let report: (problem: string) => unknown = (problem) => problems.push(problem)
  const createEntries = (valid: readonly Tool[]): RegisteredTool[] =>
    valid.flatMap((tool) => {
      const newName = resolveToolName(renames, { toolset: name, name: tool.name })
      if (newName.length <= maxToolName) return createEntry(renameTool(tool, newName), { tool, toolset: name, context })
      report(`The tool "${tool.name}" of the toolset "${name}" is left out: ${tooLong(newName)}.`)
      return []
    })
  const expected = expectedTools(toolset, { settings, renames })
  const isExpected = (tool: Tool): boolean => expected.some(({ declaredName }) => matches(declaredName, tool))
  let problem: { reason: string; isAuth: boolean } | undefined
  let permanent: readonly RegisteredTool[] = []
  let offered: readonly RegisteredTool[] = []

  function offer(candidates: readonly Tool[]): void {
    // Schemas are compiled by the first call, because compiling a long list would block the gateway.
    const { valid, problems: faults } = validateTools(name, candidates, { compile: false })
    faults.forEach(warn)
    // The operator could not know them, so nobody gets them by default.
    offered = createEntries(valid.map((tool) => (isExpected(tool) ? tool : Object.assign({}, tool, { optIn: true }))))
    onChange(label)
  }

  const supervisor = createSupervisor({
    fields: { toolset: name },
    openMs,
    open: async ({ signal }) => {
      signal.addEventListener('abort', () => offer([]), { once: true })
      const offerWhileOpen: ToolsetContext['offer'] = (candidates) => !signal.aborted && offer(candidates)
      problem = undefined
      const reportHealth: ToolsetContext['reportHealth'] = (reported) => {
        if (!signal.aborted) problem = reported === undefined ? undefined : describeReported(reported, redact)
      }
      const live = await (toolset as Toolset).open?.(settings, {
        ...context,
        signal,
        offer: offerWhileOpen,
        reportHealth,
      })
      return {
        ...validateTools(name, live?.tools ?? [], { compile: !isVerified }),
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
    if (current === 'connected' && problem)
      return { toolset: name, state: problem.isAuth ? 'unauthorized' : 'failing', reason: problem.reason }
    if (current === 'connected') return { toolset: name, state: 'open' }
    return {
      toolset: name,
      state: current === 'unauthorized' ? 'unauthorized' : 'failing',
      ...(reason !== undefined && { reason }),
    }
  }

  const first = supervisor.open()
  await (stopping ? untilAborted(first, stopping).catch(() => void supervisor.standBy('the gateway stops')) : first)
  const { state: now, reason } = supervisor.health()
  if (now !== 'connected') {
    const next = now === 'unauthorized' ? 'change its settings' : 'it is tried again'
    problems.push(`The toolset "${name}" is left out: it could not be opened (${reason}); ${next}.`)
  }
  report = warn
  return {
    permanent: () => permanent,
    offered: () => offered,
    expected,
    problems,
    state,
    close: supervisor.close,
  }
}

/** The tools that a toolset declares without being opened. */
export function expectedTools(
  { name: toolset, expected }: Toolset<never>,
  { settings, renames }: { settings: unknown; renames: Renames },
): ExpectedTool[] {
  const declared =
    (expected as ((config: unknown) => readonly Pick<Tool, 'name' | 'group'>[]) | undefined)?.(settings) ?? []
  // A tool of a pattern may have a new name that the pattern does not have.
  const renamed = Object.keys(renames[toolset] ?? {}).flatMap((name) => {
    const pattern = declared.find((tool) => tool.name.includes('*') && matches(tool.name, { name }))
    return pattern && name !== '*' ? [{ group: pattern.group, name }] : []
  })
  return [...declared, ...renamed].map(({ name, group }) => ({
    name: resolveToolName(renames, { toolset, name }),
    declaredName: name,
    group,
    toolset,
  }))
}

const describeReported = (problem: unknown, redact: (text: string) => string = String) => ({
  reason: redact(stateReason(problem)),
  isAuth: isAuthError(problem),
})

const tooLong = (name: string): string =>
  `\`tools.rename\` calls it "${name.slice(0, 80)}", which has more than ${maxToolName} characters; choose a shorter name`

/** Verifies the tools of an opened toolset. The loader has verified those that a file declares. */
function validateTools(
  toolset: string,
  tools: readonly Tool[],
  { compile }: { compile: boolean },
): { valid: Tool[]; problems: string[] } {
  const valid: Tool[] = []
  const problems: string[] = []
  for (const tool of tools) {
    const faults = findToolFaults(tool, { compile }).filter(({ warning }) => !warning)
    for (const { problem } of faults)
      problems.push(`A tool of the toolset "${toolset}" is left out: ${problem}${problem.endsWith('?') ? '' : '.'}`)
    if (faults.length === 0) valid.push(tool)
  }
  return { valid, problems }
}

function createEntry(
  tool: Tool,
  { tool: { name: declaredName }, toolset, context }: Pick<RegisteredTool, 'tool' | 'toolset' | 'context'>,
): RegisteredTool {
  let compiled: Check | undefined
  return { tool, declaredName, toolset, context, check: () => (compiled ??= compileCheck(tool.args)) }
}
