// Where the configuration is: named, in the working directory, or in the user's home.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ConfigError } from '../config-error.ts'

export interface Surroundings {
  /** The value of `--config`. */
  option?: string | undefined
  env: NodeJS.ProcessEnv
  cwd: string
  home: string
}

/**
 * The file to use: `--config`, else `$SVC_GATEWAY_CONFIG`, else `./gateway.json5`, else `~/.svc-gateway/gateway.json5`.
 * @returns `undefined` when nothing is named and neither of the usual files exists.
 * @throws {ConfigError} when a file is named that does not exist.
 */
export function locateConfig({ option, env, cwd, home }: Surroundings): string | undefined {
  const named = option ?? (env['SVC_GATEWAY_CONFIG']?.trim() || undefined)
  if (named === undefined)
    return [join(cwd, 'gateway.json5'), join(home, '.svc-gateway', 'gateway.json5')].find((file) => existsSync(file))
  const file = resolve(cwd, named)
  if (existsSync(file)) return file
  throw new ConfigError(file, [
    { path: '', problem: `there is no such file; "${commandLine(`setup --config ${file}`)}" writes one` },
  ])
}

const installed = /[\\/]node_modules[\\/]/.test(import.meta.filename)

/** What to type for a command of this program: its name where it is installed, npm in a checkout. */
export const commandLine = (command: string): string =>
  installed ? `svc-gateway ${command}` : `npm start -- ${command}`

/** Where a first configuration goes: beside a checkout's own package, else into the user's home. */
export function firstConfigFile({ cwd, home }: Pick<Surroundings, 'cwd' | 'home'>): string {
  return installed ? join(home, '.svc-gateway', 'gateway.json5') : join(cwd, 'gateway.json5')
}
