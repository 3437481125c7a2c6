// Makes the paths in a configuration absolute: they are written as seen from the configuration directory.
import { resolve } from 'node:path'
import type { JsonSchema } from '../../typebox.ts'
import { replaceValues, rootPosition } from '../walk.ts'

/** A copy of `config` in which every string that the schema marks with `path: true` is absolute. */
export function resolvePaths<Config>(config: Config, schema: JsonSchema, dir: string): Config {
  const absolute = (value: unknown, isPath: boolean) =>
    isPath && typeof value === 'string' ? resolve(dir, value) : value
  return replaceValues(
    config,
    (value, position) => absolute(value, (position.schema as { path?: boolean } | undefined)?.path === true),
    rootPosition(schema),
  ) as Config
}
