// What the steps of `setup` need: the file to write, the loaded extensions, and what was found on this machine.
import type { LocalServer } from '../../config/local-servers.ts'
import type { Extensions } from '../../loader/registry.ts'
import type { Log } from '../../plugin/plugin.ts'

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
  config?: string
  force?: boolean
  yes?: boolean
  json?: boolean
  test: boolean
  provider?: string
  model?: string
  baseUrl?: string
  apiKeyEnv?: string
  channel: readonly string[]
  preset: readonly string[]
  set: readonly string[]
  port?: number
  bind?: string
}

/** Keys of the configuration, as they are merged into the file. */
export type Changes = Readonly<Record<string, unknown>>

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }
