// The contract: what a plugin imports from `svc-gateway/plugin`. Declarations are data without side effects; `connect`,
// `open` and `models` start things and return a way to end them.
import type { Channel } from './channel.ts'
import type { Command } from './command.ts'
import type { Preset } from './preset.ts'
import type { Provider } from './provider.ts'
import type { Scheme } from './scheme.ts'
import type { Toolset } from './toolset.ts'

export { AuthError, CommandError, exitCodes, InputError, isCommandError } from './errors.ts'
export * from './channel.ts'
export * from './command.ts'
export * from './context.ts'
export type * from './panel.ts'
export * from './preset.ts'
export type * from './preset-mapping.ts'
export * from './provider.ts'
export * from './scheme.ts'
export * from './toolset.ts'
export * from './version.ts'
export type * from './tool-api.ts'
export type { ActionOverrides } from '../action.ts'
export { type JsonSchema, type Static, type TSchema, Type } from '../typebox.ts'

/** The default export of a plugin is one extension or a list of them. */
export type Extension =
  | Channel<never>
  | Toolset<never>
  | Provider<never>
  | Preset<never, never>
  | Scheme<never>
  | Command
