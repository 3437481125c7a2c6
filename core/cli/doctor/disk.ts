// Checks the file systems of the state: free space, and whether one is on the network.
import { statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'

interface FileSystem {
  /** The number of the type, as in `statfs`. */
  type: number
  freeBytes: number
  totalBytes: number
}

export const checkSpace = withConfig(({ resolved: { dir } }) => {
  const state = join(dir, 'state')
  const fileSystem = readFileSystem(state)
  return fileSystem ? findSpaceProblem(state, fileSystem) : { skipped: 'the free space is not known' }
})

const mib = 1024 ** 2
/** Below this, a migration or a large attachment may fail. */
const minBytes = 100 * mib
const lowBytes = 1024 * mib
const lowShare = 0.05

export function findSpaceProblem(path: string, { freeBytes, totalBytes }: FileSystem): Finding[] {
  const isLow = freeBytes < lowBytes && freeBytes < totalBytes * lowShare
  if (freeBytes >= minBytes && !isLow) return []
  return [
    {
      id: 'disk_nearly_full',
      severity: freeBytes < minBytes ? 'error' : 'warning',
      where: path,
      problem: `The disk of ${path} has ${Math.floor(freeBytes / mib)} MiB left. Without space, requests get 503.`,
      fix: 'Free some space, set storage.retention.maxMb, or reduce storage.retention.days.',
    },
  ]
}

/** The file system of a path, or of the folder in which it would be created. */
export function readFileSystem(path: string): FileSystem | undefined {
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined && dirname(path) !== path)
      return readFileSystem(dirname(path))
    const { type, bavail, blocks, bsize } = statfsSync(path)
    return { type, freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch {
    return undefined
  }
}

/** By the numbers of Linux; other systems number their types in another way. */
const networkTypes = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
])

/** The name of a network file system. */
export const networkTypeOf = ({ type }: FileSystem, platform = process.platform): string | undefined =>
  platform === 'linux' ? networkTypes.get(type >>> 0) : undefined
