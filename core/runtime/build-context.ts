// The input for building each area of a runtime.
import type { ConfigProblem } from '../config/config-error.ts'
import type { Config } from '../config/schema/schema.ts'
import type { GatewayError } from '../errors.ts'
import type { Services } from '../services.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Policy } from '../tools/policy.ts'
import type { ToolRegistry } from '../tools/registry.ts'

/** The state of the process, and what a runtime may request from the gateway. */
export interface Lifecycle {
  /** Why the gateway accepts no work at the moment: it starts or stops, or its store is not to be used. */
  findRefusal(): GatewayError | undefined
  /** Aborts when the gateway stops. */
  stopping: AbortSignal
  /** Resolves when the gateway accepts work. */
  started: Promise<void>
  /** Reads the configuration file again and applies it. */
  reload(): Promise<ReloadResult>
  /** The tool policy of the configuration in use, which also narrows runs that began before a reload. */
  currentPolicy(): Policy | undefined
  /** What `check` would say of the configuration in use. Empty until it is known. */
  warnings(): readonly ConfigProblem[]
}

/** The result of a reload. */
export interface ReloadResult {
  /** Keys whose new value takes effect at the next start. */
  restartFor: string[]
}

export interface BuildContext {
  config: Config
  services: Services
  lifecycle: Lifecycle
  /** The open resources of the previous runtime. Absent at the start. */
  previous: Reusable | undefined
  /** Collects what must be closed. The last opened is closed first. */
  opened: AsyncDisposableStack
}

/** The open toolsets. A reload reuses them when their settings are the same. */
export interface Tools extends Shared {
  settings: { rename: Config['tools']['rename']; sections: Readonly<Record<string, unknown>> }
  registry: ToolRegistry
}

/** The sandbox for transforms. A reload reuses it when the transforms directory is the same. */
export interface Transforms extends Shared {
  dir: string
  sandbox: Sandbox
}

/** The resources that the next runtime may reuse. */
export interface Reusable {
  tools: Tools
  transforms: Transforms
}

export interface Shared {
  /** Registers a user. Call the returned function once, when you are done. The last such call closes the resource. */
  use(): () => Promise<void>
}
