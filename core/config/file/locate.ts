// Locates the configuration file: given by name, in the working directory, or in the user's home.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { ConfigError } from '../config-error.ts'
import { type ConfigDocument, readConfigFile } from './read.ts'
import { assertTrusted, currentUser, type User } from './trust.ts'

/** Those of the process, unless they are given. */
export interface Surroundings {
  /** The value of `--config`. */
  option?: string | undefined
  env?: NodeJS.ProcessEnv
  cwd?: string
  home?: string
  user?: User | undefined
}

/**
 * The file to use: `--config`, else `$SVC_GATEWAY_CONFIG`, else `./gateway.json5`, else `~/.svc-gateway/gateway.json5`.
 * A file that is given is trusted, whoever owns it.
 * @returns `undefined` if no file is given and neither default file exists.
 * @throws {ConfigError} if a file is given that does not exist, or if others can change the one that is found.
 */
export function locateConfig({
  option,
  env = process.env,
  cwd = process.cwd(),
  home = homeFolder(),
  user = currentUser(),
}: Surroundings = {}): string | undefined {
  const given = option ?? (env['SVC_GATEWAY_CONFIG']?.trim() || undefined)
  if (given === undefined) {
    const found = [cwd, ...(home === undefined ? [] : [join(home, '.svc-gateway')])]
      .map((folder) => join(folder, 'gateway.json5'))
      .find((file) => existsSync(file))
    if (found !== undefined) assertTrusted(found, user)
    return found
  }
  const file = resolve(cwd, given)
  if (existsSync(file)) return file
  throw new ConfigError(file, [
    { path: '', problem: `does not exist; run "${commandLine(`setup --config ${file}`)}" to create it` },
  ])
}

/** Undefined if `HOME` is not set and the user is not in the list of users, as in some containers. */
function homeFolder(): string | undefined {
  try {
    return homedir()
  } catch {
    return undefined
  }
}

const isInstalled = /[\\/]node_modules[\\/]/.test(import.meta.filename)

/** How to run a command of this program: by its name if it is installed, with npm in a checkout. */
export const commandLine = (command: string): string =>
  isInstalled ? `svc-gateway ${command}` : `npm start -- ${command}`

/**
 * The file for a first configuration: `--config`, or else in the checkout, or in the user's home if the program is
 * installed.
 */
export function firstConfigFile({ option, cwd = process.cwd(), home = homeFolder() }: Surroundings = {}): string {
  if (option) return resolve(cwd, option)
  return isInstalled && home !== undefined ? join(home, '.svc-gateway', 'gateway.json5') : join(cwd, 'gateway.json5')
}

/** Reads the file of a command that needs one. @throws {ConfigError} if there is none, or if it cannot be read. */
export function readLocatedConfig(option: string | undefined): ConfigDocument {
  const file = locateConfig({ option })
  if (file !== undefined) return readConfigFile(file)
  throw new ConfigError(firstConfigFile(), [
    { path: '', problem: `does not exist; run "${commandLine('setup')}" to create it` },
  ])
}
