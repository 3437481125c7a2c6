// Turns a configuration into a text that gateways on one store compare: without what may depend on their machines.
import { basename } from 'node:path'
import type { JsonSchema } from '../typebox.ts'
import { resolveCredential } from './credentials.ts'
import { type Config, type ConfigurableExtensions, createConfigSchema } from './schema/schema.ts'
import { isRecord, replaceValues, type SchemaPosition } from './walk.ts'

interface Environment {
  extensions: ConfigurableExtensions
  env: NodeJS.ProcessEnv
}

/**
 * Returns a text that is equal for configurations that differ only in what may depend on the machine: the address, the
 * log, paths, and how the store is reached. It holds secrets. A credential counts wherever it was read from.
 */
export function toComparisonText(config: Config, { extensions, env }: Environment): string {
  const { log: _log, ...sections } = withoutPaths(config, createConfigSchema(extensions, config))
  const { port: _port, bind: _bind, ...gateway } = sections.gateway
  const { url: _url, ...storage } = sections.storage
  const plugins = sections.plugins.map((plugin) => (/^\.{0,2}\//.test(plugin) ? basename(plugin) : plugin))
  // Some gateways may read it from the environment.
  const auth = { ...gateway.auth, token: undefined, password: undefined, ...resolveCredential(gateway.auth, env) }
  return JSON.stringify({ ...sections, plugins, gateway: { ...gateway, auth }, storage }, sortKeys)
}

const withoutPaths = (config: Config, schema: JsonSchema): Config =>
  replaceValues(config, schema, (value, position) => (isPath(position) ? undefined : value)) as Config

const isPath = ({ keys, schema }: SchemaPosition): boolean =>
  (schema as { path?: boolean } | undefined)?.path === true || (keys[0] === 'agents' && keys.at(-1) === 'workspace')

const sortKeys = (_key: string, value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value
