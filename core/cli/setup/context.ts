// What the steps of `setup` need: the file to write, the loaded extensions, and what was found on this machine.
import type { LocalServer } from '../../config/local-servers.ts'
import type { Extensions } from '../../loader/registry.ts'

export interface SetupContext {
  /** The file to write, absolute. */
  file: string
  extensions: Extensions
  localServers: readonly LocalServer[]
  env: NodeJS.ProcessEnv
  /** False: neither the model nor the channels are tried. */
  test: boolean
}

/** The options of the command. */
export interface SetupOptions {
  config?: string | undefined
  force?: boolean | undefined
  yes?: boolean | undefined
  json?: boolean | undefined
  noTest?: boolean | undefined
  provider?: string | undefined
  model?: string | undefined
  baseUrl?: string | undefined
  apiKeyEnv?: string | undefined
  channel: readonly string[]
  preset: readonly string[]
  set: readonly string[]
  port?: number | undefined
  bind?: string | undefined
}

/** Keys of the configuration, as they are merged into the file. */
export type Changes = Readonly<Record<string, unknown>>

export interface WizardContext extends SetupContext {
  /** The answers of the options, without channels. They are valid. */
  given: Changes
}
