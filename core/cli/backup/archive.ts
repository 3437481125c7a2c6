// The archive of a backup: a compressed tar file with a list of its files and their hashes.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { findDamage } from '../../store/sqlite/copy.ts'
import { CommandError } from '../command-error.ts'

export interface Manifest {
  format: 1
  /** The version of the gateway that wrote it. */
  version: string
  createdAt: string
  /** The name of the configuration file. */
  config: string
  /** Hashes of files, and targets of links, by path. */
  entries: Record<string, string>
}

/** The store in the archive, and the folder of all other files. */
export const storeName = 'store.db'
export const filesName = 'files'
const manifestName = 'manifest.json'

export async function writeManifest(folder: string, about: Omit<Manifest, 'format' | 'entries'>): Promise<void> {
  const manifest: Manifest = { format: 1, ...about, entries: await describeEntries(folder) }
  writeFileSync(join(folder, manifestName), JSON.stringify(manifest))
}

export function pack(folder: string, archive: string): void {
  runTar(['-czf', archive, '-C', folder, '.'])
}

/** Unpacks an archive into an empty folder and compares every file with the manifest. */
export async function unpack(archive: string, folder: string): Promise<Manifest> {
  try {
    runTar(['-xzf', archive, '-C', folder])
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${archive} is damaged or is not a backup: it cannot be unpacked.`)
  }
  const manifest = readManifest(archive, folder)
  const entries = await describeEntries(folder)
  const paths = new Set([...Object.keys(entries), ...Object.keys(manifest.entries)])
  const wrong = [...paths].find((path) => entries[path] !== manifest.entries[path])
  if (wrong !== undefined) throw new CommandError(`${archive} is damaged: ${wrong} is not what was backed up.`)
  const damage = findDamage(join(folder, storeName))
  if (damage !== undefined) throw new CommandError(`The store in ${archive} is damaged: ${damage}.`)
  return manifest
}

function readManifest(archive: string, folder: string): Manifest {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, manifestName), 'utf8')) as Manifest
    if (manifest.format === 1) return manifest
  } catch {
    throw new CommandError(`${archive} is not a backup of svc-gateway.`)
  }
  throw new CommandError(`${archive} was written by a newer version of svc-gateway; install that version first.`)
}

async function describeEntries(folder: string): Promise<Record<string, string>> {
  const entries: Record<string, string> = {}
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, entry)
    const stat = lstatSync(path)
    const name = relative(folder, path).replaceAll(sep, '/')
    if (name === manifestName || stat.isDirectory()) continue
    entries[name] = stat.isSymbolicLink() ? `link to ${readlinkSync(path)}` : await hashOf(path)
  }
  return entries
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

function runTar(args: readonly string[]): void {
  try {
    execFileSync('tar', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new CommandError('The program "tar" is not installed; install it and run the command again.')
    throw error
  }
}
