// From `--config` to a checked configuration: finds the file, loads the plugins it names, checks it against their schemas.
import { homedir } from 'node:os'
import { ConfigError } from '../config/config-error.ts'
import { type ConfigDocument, readConfigFile } from '../config/file.ts'
import { firstConfigFile, locateConfig } from '../config/locate.ts'
import { type ResolvedConfig, resolveConfig } from '../config/resolve.ts'
import { loadParts, type Parts } from '../loader/registry.ts'
import type { Log } from '../plugin.ts'

export interface CheckedConfig extends ResolvedConfig {
  document: ConfigDocument
  parts: Parts
}

/** @throws {ConfigError} when there is no file, or with every problem that it has. */
export async function readCheckedConfig(option: string | undefined, log: Log = silent): Promise<CheckedConfig> {
  const surroundings = { option, env: process.env, cwd: process.cwd(), home: homedir() }
  const file = locateConfig(surroundings)
  if (file === undefined) throw new ConfigError(firstConfigFile(surroundings), [{ path: '', problem: 'does not exist yet; "svc-gateway setup" writes it' }])
  const document = readConfigFile(file)
  const parts = await loadParts({ plugins: document.plugins, dir: document.dir, log })
  return { ...resolveConfig(document, parts), document, parts }
}

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }
