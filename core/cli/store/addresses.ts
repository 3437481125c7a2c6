// Reads the two stores of a migration from the options and the configuration.
import JSON5 from 'json5'
import { ConfigError } from '../../config/config-error.ts'
import { locateConfig } from '../../config/file/locate.ts'
import type { ConfigDocument } from '../../config/file/read.ts'
import { readLocatedConfig } from '../../config/file/read-located.ts'
import { readStorageUrl, resolveStorageUrl } from '../../config/file/storage-url.ts'
import type { CopyAddresses } from '../../store/copy/copy-store.ts'
import { parseStoreUrl, type StoreAddress } from '../../store/store-url.ts'
import { CommandError } from '../../plugin/errors.ts'

export interface AddressOptions {
  to: string
  from?: string
  config?: string
}

export interface Addresses extends CopyAddresses {
  /** The new store as `storage.url` has to be written. */
  written: unknown
  /** The configuration that `storage.url` is from. Undefined: there is none. */
  document: ConfigDocument | undefined
}

export function readAddresses({ to, from, config }: AddressOptions): Addresses {
  const isNeeded = from === undefined || config !== undefined
  const document = isNeeded || locateConfig({ option: config }) !== undefined ? readLocatedConfig(config) : undefined
  const dir = document?.dir ?? process.cwd()
  const written = parseWritten(to, '--to')
  return {
    from:
      from === undefined
        ? parseStoreUrl(readStorageUrl(document as ConfigDocument), { dir })
        : resolveOption(parseWritten(from, '--from'), { name: '--from', dir }),
    to: resolveOption(written, { name: '--to', dir }),
    written,
    document,
  }
}

/** A URL, or an object as in the configuration. */
function parseWritten(text: string, name: string): unknown {
  if (!text.trimStart().startsWith('{')) return text
  try {
    return JSON5.parse<unknown>(text)
  } catch {
    throw new CommandError(`${name} must be a URL, or an object such as { file: "secrets/database-url" }.`)
  }
}

function resolveOption(written: unknown, { name, dir }: { name: string; dir: string }): StoreAddress {
  try {
    return parseStoreUrl(resolveStorageUrl(written, { dir, env: process.env }), { dir, name })
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(`${name} ${error.problems[0]?.problem ?? 'is invalid'}.`)
    throw error
  }
}
