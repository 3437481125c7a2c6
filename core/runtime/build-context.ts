// The input for building each area of a runtime.
import type { Config } from '../config/schema.ts'
import type { ReloadResult } from './gateway-api.ts'
import type { Services } from '../services.ts'
import type { Reusable } from './resources.ts'

/** The state of the process, and what a runtime may request from the gateway. */
export interface Lifecycle {
  /** False while the gateway starts and while it stops. */
  isReady(): boolean
  /** Aborts when the gateway stops. */
  stopping: AbortSignal
  /** Reads the configuration file again and applies it. */
  reload(): Promise<ReloadResult>
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
