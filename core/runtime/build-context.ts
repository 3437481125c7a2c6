// What every area of a runtime is built from.
import type { Config } from '../config/schema.ts'
import type { ReloadResult } from '../runs/gateway-api.ts'
import type { Services } from '../services.ts'
import type { Reusable } from './resources.ts'

/** What the gateway tells a runtime about the process, and does for it. */
export interface Lifecycle {
  /** False while the gateway starts and while it drains. */
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
  /** What the previous runtime has open; absent at the start. */
  previous: Reusable | undefined
  /** Closes what was opened, last first. */
  opened: AsyncDisposableStack
}
