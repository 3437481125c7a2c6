// Remembers where the texts and the names of the files came from that turns and clients write into a workspace.
import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { resolveLinks } from '../config/file/paths.ts'
import type { Json } from '../plugin/plugin.ts'
import { joinProvenance, noProvenance, type Provenance } from '../store/provenance.ts'
import type { Store } from '../store/store.ts'

export interface FileSources {
  /** Call it before the file is written. */
  record(folder: string, path: string, written: { data: string | Uint8Array; provenance: Provenance }): Promise<void>
  /**
   * Returns undefined if the file has another text than was recorded: then somebody has written it who needs no gateway
   * for that, and is trusted.
   */
  find(folder: string, path: string, file: { data: Uint8Array; size: number }): Promise<Provenance | undefined>
  /** Of the names in a folder that were new when a file was written. */
  findNames(folder: string, path: string, names: readonly string[]): Promise<Provenance>
}

interface Version {
  hash: string
  provenance: Provenance
}

const owner = 'file-provenance'
/** By path, and with `true` for each folder that has such names. */
const nameOwner = 'name-provenance'
/** How many names are looked up at once. */
const maxLookups = 100
/** A file is not written if the gateway ends after it was recorded, so that an earlier text may stay. */
const maxVersions = 3

export function createFileSources(store: Pick<Store, 'getState' | 'setState'>): FileSources {
  const read = async (key: string) => ((await store.getState(owner, key)) ?? []) as unknown as readonly Version[]
  const recordNames = async (folder: string, path: string, provenance: Provenance): Promise<void> => {
    for (let at = join(folder, path); at.startsWith(join(folder, sep)) && (await isMissing(at)); at = dirname(at)) {
      const key = realPath(at)
      await store.setState(nameOwner, key, provenance as unknown as Json)
      await store.setState(nameOwner, join(dirname(key), sep), true)
    }
  }
  const findName = async (key: string) => (await store.getState(nameOwner, key)) as unknown as Provenance | undefined
  return {
    record: async (folder, path, { data, provenance }) => {
      await recordNames(folder, path, provenance)
      const key = realPath(join(folder, path))
      const version = { hash: hashOf(data), provenance }
      const others = (await read(key)).filter(({ hash }) => hash !== version.hash)
      await store.setState(owner, key, [version, ...others].slice(0, maxVersions) as unknown as Json)
    },
    find: async (folder, path, { data, size }) => {
      const versions = await read(realPath(join(folder, path)))
      if (versions.length === 0) return undefined
      // Only a part of the file was read, so its text cannot be compared.
      if (size > data.length) return joinProvenance(...versions.map(({ provenance }) => provenance))
      const hash = hashOf(data)
      return versions.find((version) => version.hash === hash)?.provenance
    },
    findNames: async (folder, path, names) => {
      const parent = resolveLinks(join(folder, path))
      if ((await findName(join(parent, sep))) === undefined) return noProvenance
      let found = noProvenance
      for (let at = 0; at < names.length; at += maxLookups) {
        const some = names.slice(at, at + maxLookups).map((name) => findName(join(parent, name)))
        found = joinProvenance(found, ...(await Promise.all(some)).filter((one) => one !== undefined))
      }
      return found
    },
  }
}

const hashOf = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('base64url')

const isMissing = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => false,
    () => true,
  )

/** Without links to the file, because agents may share a folder. The file itself may be a link. */
const realPath = (path: string): string => join(resolveLinks(dirname(path)), basename(path))
