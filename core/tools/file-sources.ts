// Remembers where the texts of the files came from that turns and clients write into a workspace.
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { resolveLinks } from '../config/file/paths.ts'
import type { Json } from '../plugin/plugin.ts'
import { joinProvenance, type Provenance } from '../store/provenance.ts'
import type { Store } from '../store/store.ts'

export interface FileSources {
  /** Call it before the file is written. */
  record(folder: string, path: string, written: { data: string | Uint8Array; provenance: Provenance }): Promise<void>
  /**
   * Returns undefined if the file has another text than was recorded: then somebody has written it who needs no gateway
   * for that, and is trusted.
   */
  find(folder: string, path: string, file: { data: Uint8Array; size: number }): Promise<Provenance | undefined>
}

interface Version {
  hash: string
  provenance: Provenance
}

const owner = 'file-provenance'
/** A file is not written if the gateway ends after it was recorded, so that an earlier text may stay. */
const maxVersions = 3

export function createFileSources(store: Pick<Store, 'getState' | 'setState'>): FileSources {
  const read = async (key: string) => ((await store.getState(owner, key)) ?? []) as unknown as readonly Version[]
  return {
    record: async (folder, path, { data, provenance }) => {
      const key = keyOf(folder, path)
      const version = { hash: hashOf(data), provenance }
      const others = (await read(key)).filter(({ hash }) => hash !== version.hash)
      await store.setState(owner, key, [version, ...others].slice(0, maxVersions) as unknown as Json)
    },
    find: async (folder, path, { data, size }) => {
      const versions = await read(keyOf(folder, path))
      if (versions.length === 0) return undefined
      // Only a part of the file was read, so its text cannot be compared.
      if (size > data.length) return joinProvenance(...versions.map(({ provenance }) => provenance))
      const hash = hashOf(data)
      return versions.find((version) => version.hash === hash)?.provenance
    },
  }
}

const hashOf = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('base64url')

/** The real path, because agents may share a folder. */
function keyOf(folder: string, path: string): string {
  const whole = join(folder, path)
  return join(resolveLinks(dirname(whole)), basename(whole))
}
