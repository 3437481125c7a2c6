// Configuration keys that need a restart.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from './schema/schema.ts'

const restartKeys = ['gateway.port', 'gateway.bind', 'storage.url', 'plugins', 'log.pretty'] as const

/** Returns the new configuration with the old values of keys that need a restart, and the keys that differ. */
export function keepUntilRestart(wanted: Config, running: Config): { config: Config; kept: string[] } {
  const config: Config = {
    ...wanted,
    gateway: { ...wanted.gateway, port: running.gateway.port, bind: running.gateway.bind },
    storage: { ...wanted.storage, url: running.storage.url },
    plugins: running.plugins,
    log: { ...running.log, level: wanted.log.level },
  }
  return { config, kept: restartKeys.filter((key) => !isDeepStrictEqual(valueAt(wanted, key), valueAt(running, key))) }
}

const valueAt = (config: Config, path: string): unknown =>
  path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], config)
