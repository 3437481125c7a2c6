// The contract of a toolset: functions that agents and HTTP clients can call.
import type { ExtensionContext } from './context.ts'
import type { Panel } from './panel.ts'
import type { JsonSchema } from '../typebox.ts'
import type { ToolApi, ToolEffect } from './tool-api.ts'

/** The context of one tool call, with the tool API of the gateway. */
export interface ToolContext extends ExtensionContext, ToolApi {
  agentId: string
  sessionKey: string
  /** An agent in a turn, or a client over HTTP. */
  caller: 'agent' | 'http'
  /** The run that calls, if `caller` is `agent`. */
  runId?: string
  /** Channel and account of the message that the run answers, or that the client names in headers. */
  channel?: string | undefined
  accountId?: string | undefined
}

/** Which texts of a tool were written outside of the gateway. */
export type ToolText = 'none' | 'result' | 'all'

/** A function that agents and HTTP clients can call. */
export interface Tool<Args = never> {
  /** snake_case, unique in the gateway. */
  name: string
  /** Group name for policies, without the prefix `group:`. */
  group?: string
  /**
   * `true`: the tool is available only where a policy list names the tool, its group or its toolset. `*` does not count
   * as a name.
   */
  optIn?: boolean
  /** For the model: what the tool does and when to use it. */
  description: string
  /** Schema of the arguments, an object. Arguments are checked before `execute` is called. */
  args: JsonSchema
  /**
   * What a call does, or a function that returns it for one call. `[]`: neither. Absent: both.
   * A turn that sees text from outside may use one of the two effects, so a tool with both is withheld from it.
   */
  effects?:
    | readonly ToolEffect[]
    | ((args: Args, context: ToolContext) => readonly ToolEffect[] | Promise<readonly ToolEffect[]>)
  /**
   * Which of its texts were written outside of the gateway, by people who are not its users: the `result` (a web page, the
   * entries of a tracker), the `description`, too (`all`), or `none`. A turn that reads such a text may do no more than a
   * webhook's run. Default: `result`.
   */
  external?: ToolText | ((args: Args) => ToolText)
  /**
   * The service that provides the tool, if the toolset connects to several. Descriptions of a service from outside do not
   * restrict its own tools. Default: all tools of the toolset belong together.
   */
  service?: string
  /**
   * What a call changes, which MCP clients show to the person who approves it. `nothing`: it only reads. `adds`: it adds
   * or sends something, and neither overwrites nor deletes. Absent: it may overwrite or delete.
   */
  changes?: 'nothing' | 'adds'
  /**
   * `true`: a call may be made again if the gateway ended during it, because a second one changes nothing. `false`: the
   * model reads that the call was interrupted, and may have taken effect. Default: `true` if `changes` is `nothing`.
   */
  repeatable?: boolean
  /**
   * Returns a JSON value, or a promise of one. It must end when `context.signal` aborts; its result is then ignored.
   * Throw `InputError` if the arguments are at fault.
   */
  execute(args: Args, context: ToolContext): unknown
}

/** The context of an open toolset. */
export interface ToolsetContext extends ExtensionContext {
  /**
   * Offers tools that come and go, for example with a connection. You may call it at any time: each call replaces the
   * tools of the call before. A tool that is faulty, or whose name is in use, is left out with a warning in the log.
   */
  offer(tools: readonly Tool[]): void
  /**
   * Reports whether the open toolset works, for the state that the gateway shows: without an argument it does. It stays
   * open in any case.
   * @param problem a sentence or the error; an `AuthError` says that the credentials are refused
   */
  reportHealth(problem?: unknown): void
}

/** A set of tools with shared settings. Give `tools`, or `open` if the tools need settings or a connection. */
export interface Toolset<Config = unknown> {
  readonly kind: 'toolset'
  name: string
  description: string
  /** Schema of the config section `tools.<name>`. Absent: the toolset has no settings. */
  config?: JsonSchema
  tools?: readonly Tool[]
  /**
   * The tools that `open` may return or offer, by name or by a name with `*`. It must not open anything. With it, the
   * gateway can warn about names in a policy that match no tool. A tool that is offered without being expected is
   * available only where the policy names it, its group or the toolset.
   */
  expected?(config: Config): readonly Pick<Tool, 'name' | 'group'>[]
  /**
   * Opens the toolset. The gateway waits for it at startup, so a slow connection belongs in the background: return an
   * empty list, and call `offer` once the tools are known.
   */
  open?(config: Config, context: ToolsetContext): Promise<OpenedToolset>
  /** A part of the control page. It may call the tools of the toolset. */
  panel?: Panel
}

/** An open toolset. */
export interface OpenedToolset {
  tools: readonly Tool[]
  close(): Promise<void>
}

/**
 * Declares a toolset.
 * @example export default defineToolset({ name: 'dice', description: 'Rolls dice.', tools: [roll] })
 */
export const defineToolset = <Config>(toolset: Omit<Toolset<Config>, 'kind'>): Toolset<Config> => ({
  kind: 'toolset',
  ...toolset,
})

/** Declares one tool of a toolset. Type its arguments by hand or with `Static<typeof Args>`. */
export const defineTool = <Args>(tool: Tool<Args>): Tool => tool
