// The archive of a backup: a compressed tar file with a list of its files and their hashes.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  createReadStream,
  createWriteStream,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
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

/** Called with the bytes that are done, and with all. */
type Report = (done: number, total: number) => void

/** Writes all files of a folder into an archive. */
export async function pack(folder: string, { archive, report }: { archive: string; report: Report }): Promise<void> {
  const sizes = listFiles(folder).map((path) => lstatSync(path).size)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  try {
    await runTar(['-cf', '-', '-C', folder, '.'], ({ stdout }) =>
      pipeline(stdout, reportBytes(report, total), createGzip(), createWriteStream(archive)),
    )
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`The archive cannot be written: ${(error as Error).message}.`)
  }
}

/** Unpacks an archive into an empty folder and compares every file with the manifest. */
export async function unpack(archive: string, { folder, report }: { folder: string; report: Report }) {
  try {
    await runTar(['-xf', '-', '-C', folder], ({ stdin }) =>
      pipeline(createReadStream(archive), reportBytes(report, statSync(archive).size), createGunzip(), stdin),
    )
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${archive} is damaged or is not a backup: it cannot be unpacked.`)
  }
  const manifest = readManifest(archive, folder)
  const entries = await describeEntries(folder)
  const paths = new Set([...Object.keys(entries), ...Object.keys(manifest.entries)])
  const wrong = [...paths].find((path) => entries[path] !== manifest.entries[path])
  if (wrong !== undefined) throw new CommandError(`${archive} is damaged: ${wrong} is not what was backed up.`)
  const damage = await findDamage(join(folder, storeName))
  if (damage !== undefined) throw new CommandError(`The store in ${archive} is damaged: ${damage}.`)
  return manifest
}

/** A step of a pipeline. A tar stream is a little longer than its files. */
function reportBytes(report: Report, total: number) {
  return async function* (source: AsyncIterable<Buffer>) {
    let done = 0
    report(done, total)
    for await (const chunk of source) {
      done = Math.min(done + chunk.length, total)
      report(done, total)
      yield chunk
    }
  }
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
  for (const path of listFiles(folder)) {
    const name = relative(folder, path).replaceAll(sep, '/')
    if (name === manifestName) continue
    entries[name] = lstatSync(path).isSymbolicLink() ? `link to ${readlinkSync(path)}` : await hashOf(path)
  }
  return entries
}

/** The absolute paths of all files and links below a folder. */
const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

type Tar = ChildProcessByStdio<Writable, Readable, null>

async function runTar(args: readonly string[], connect: (tar: Tar) => Promise<void>): Promise<void> {
  const tar = spawn('tar', args, { stdio: ['pipe', 'pipe', 'ignore'] })
  const [ended, moved] = await Promise.allSettled([once(tar, 'exit'), connect(tar)])
  if (ended.status === 'rejected')
    throw new CommandError('The program "tar" is not installed; install it and run the command again.')
  const [code] = ended.value as [number | null]
  if (moved.status === 'rejected' && !(code === 0 && isClosedPipe(moved.reason))) throw moved.reason
  if (code !== 0) throw new Error(`tar ended with ${code}`)
}

/** An archive ends with zeros, and tar does not always read the last ones. */
const isClosedPipe = (error: NodeJS.ErrnoException): boolean =>
  error.code === 'EPIPE' || error.code === 'ERR_STREAM_PREMATURE_CLOSE'
