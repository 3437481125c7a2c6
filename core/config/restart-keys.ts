// Keys whose new value waits for the next start.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from './schema.ts'

/** What a running gateway cannot change: it keeps the old value until the next start. */
const restartKeys = ['gateway.port', 'gateway.bind', 'storage.url', 'plugins', 'log.pretty'] as const

/**
 * The wanted configuration with what cannot change now as it was, and the names of those keys that would have changed.
 */
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
