// Reads the configuration file of a command that needs an existing one.
import { ConfigError } from '../config-error.ts'
import { commandLine, firstConfigFile, locateConfig } from './locate.ts'
import { type ConfigDocument, readConfigFile } from './read.ts'

/** @throws {ConfigError} if there is no file, or if it cannot be read. */
export function readLocatedConfig(option: string | undefined): ConfigDocument {
  const file = locateConfig({ option })
  if (file !== undefined) return readConfigFile(file)
  throw new ConfigError(firstConfigFile(), [
    { path: '', problem: `does not exist; run "${commandLine('setup')}" to create it` },
  ])
}
