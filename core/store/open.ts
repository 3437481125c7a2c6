// Opens the store that `storage.url` names.
import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { GatewayError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import { createSqliteStore } from './sqlite/sqlite.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  url: string
  /** The configuration directory, which a relative path in the URL starts from. */
  dir: string
  log: Log
  /** Called with each commit: how many operations shared it. */
  onCommit?: (operations: number) => void
}

export async function openStore({ url, dir, log, onCommit }: StoreOptions): Promise<Store> {
  const { scheme, rest } = split(url)
  if (scheme !== 'sqlite' || rest === '') {
    throw new GatewayError(
      'store_unavailable',
      `storage.url must be "sqlite:" and a path, like "sqlite:state/gateway.db"${scheme && scheme !== 'sqlite' ? `; "${scheme}:" is not a store that this program has` : ''}.`,
    )
  }
  const path = resolve(dir, rest)
  makeFolder(dirname(path))
  return createSqliteStore({ path, log, ...(onCommit && { onCommit }) })
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const sentence = `The folder ${folder} of the store cannot be made (${code}); let the gateway's user write there, or choose another storage.url.`
    throw new GatewayError('store_unavailable', sentence, { cause })
  }
}

/** Only the scheme is ever repeated to anyone: what follows may hold a password. */
function split(url: string): { scheme: string; rest: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/s.exec(url) ?? []
  return { scheme, rest }
}
