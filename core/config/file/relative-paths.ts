// Resolves relative paths of a configuration against the configuration directory.
import { resolve } from 'node:path'
import type { JsonSchema } from '../../typebox.ts'
import { replaceValues, rootPosition } from '../walk.ts'

/** Returns a copy with absolute paths for all strings that the schema marks with `path: true`. */
export function resolvePaths<Config>(config: Config, schema: JsonSchema, dir: string): Config {
  const absolute = (value: unknown, isPath: boolean) =>
    isPath && typeof value === 'string' ? resolve(dir, value) : value
  return replaceValues(
    config,
    (value, position) => absolute(value, (position.schema as { path?: boolean } | undefined)?.path === true),
    rootPosition(schema),
  ) as Config
}
