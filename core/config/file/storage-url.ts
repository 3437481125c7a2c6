// Resolves `storage.url` without the rest of the configuration, for commands that work on the store itself.
import { ConfigError } from '../config-error.ts'
import { fillDefaults } from '../defaults.ts'
import { StorageSection } from '../schema/basics.ts'
import { isRecord } from '../walk.ts'
import type { ConfigDocument } from './read.ts'
import { type Finding, resolveEnvironment, resolveSecretFiles } from './secrets.ts'

export type StoredUrl = Pick<ConfigDocument, 'value' | 'dir'> &
  Partial<Pick<ConfigDocument, 'file' | 'layout' | 'problems'>>

const schema = { properties: { storage: StorageSection } }

/** Returns the URL, also one from a secret file or a variable. @throws {ConfigError} */
export function readStorageUrl({ value, dir, file = '', layout, problems = [] }: StoredUrl): string {
  const resolved = resolveSecretFiles({ storage: value['storage'] }, schema, dir)
  const { storage } = fillDefaults(schema, resolved.value) as { storage: unknown }
  const url = isRecord(storage) ? storage['url'] : undefined
  const problem = [...problems, ...resolved.problems].find(isOfUrl)?.problem
  if (typeof url === 'string' && problem === undefined) return url
  throw new ConfigError(file, [
    {
      path: 'storage.url',
      ...layout?.placeOf(['storage', 'url']),
      problem: problem ?? 'must be a string or { file: "path" }',
    },
  ])
}

const isOfUrl = ({ keys: [section, key] }: Finding): boolean => section === 'storage' && key === 'url'

/** Resolves a value as if it were `storage.url`. Relative paths of files are relative to `dir`. */
export function resolveStorageUrl(written: unknown, { dir, env }: Pick<ConfigDocument, 'dir' | 'env'>): string {
  const { value, problems } = resolveEnvironment({ storage: { url: written } }, env)
  return readStorageUrl({ value: value as Record<string, unknown>, problems, dir })
}
