// What every running extension gets: a log, state of its own, and the signal that ends it.

/** A value that JSON can hold: what `state` stores and tools return. */
export type Json = string | number | bigint | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** A structured logger. The gateway adds the name of the extension to each line and redacts configured secrets. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Durable key-value state of one extension, such as cursors and credentials. Each account of a channel has its own. A
 * write is on disk when its promise resolves.
 */
export interface ExtensionState {
  /** @returns the value that was last set, or `undefined`. */
  get(key: string): Promise<Json | undefined>
  set(key: string, value: Json): Promise<void>
  delete(key: string): Promise<void>
}

/** What a running extension gets; each kind adds its own members. */
export interface ExtensionContext {
  log: Log
  /** Aborted when the gateway stops or the extension is reloaded. */
  signal: AbortSignal
  state: ExtensionState
}
