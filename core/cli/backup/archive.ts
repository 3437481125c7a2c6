// The archive of a backup: a compressed tar file with a list of its files and their hashes.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  lstatSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { isRecord } from '../../config/walk.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { CommandError } from '../../plugin/errors.ts'
import { findDamage } from '../../store/sqlite/copy.ts'
import { listProblems, type Static, Type } from '../../typebox.ts'

const format = 1

const Manifest = Type.Object({
  format: Type.Literal(format),
  /** The version of the gateway that wrote it. */
  version: Type.String(),
  createdAt: Type.String({ pattern: String.raw`^[\d-]{10}T[\d:.]{5,15}Z$` }),
  /** The name of the configuration file. */
  config: Type.String({ pattern: String.raw`^(?!\.{1,2}$)[^/\\\x00-\x1f]+$` }),
  /** Hashes of files by path. */
  entries: Type.Record(Type.String(), Type.String()),
})
type Manifest = Static<typeof Manifest>

/** The store in the archive, and the folder of all other files. */
export const storeName = 'store.db'
export const filesName = 'files'
const manifestName = 'manifest.json'

export async function writeManifest(folder: string, about: Omit<Manifest, 'format' | 'entries'>): Promise<void> {
  const manifest: Manifest = { format, ...about, entries: Object.fromEntries(await describeEntries(folder)) }
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

/** Unpacks an archive from anywhere into an empty folder, and compares every file with the manifest. */
export async function unpack(
  archive: string,
  { folder, report }: { folder: string; report: Report },
): Promise<Manifest> {
  const bytes = await extract(archive, { folder, report })
  secureEntries(folder, { archive, bytes })
  const manifest = readManifest(archive, folder)
  const found = await describeEntries(folder)
  const listed = new Map(Object.entries(manifest.entries))
  const wrong = [...found.keys(), ...listed.keys()].find((path) => found.get(path) !== listed.get(path))
  if (wrong !== undefined)
    throw new CommandError(`${archive} is damaged: ${escapeInLine(wrong)} is not what was backed up.`)
  for (const path of [storeName, `${filesName}/${manifest.config}`])
    if (!found.has(path)) throw new CommandError(`${archive} is not a backup: it has no file ${escapeInLine(path)}.`)
  const damage = await findDamage(join(folder, storeName))
  if (damage !== undefined) throw new CommandError(`The store in ${archive} is damaged: ${escapeInLine(damage)}.`)
  return manifest
}

/** @returns the bytes of the tar stream */
async function extract(archive: string, { folder, report }: { folder: string; report: Report }): Promise<number> {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  let bytes = 0
  const limitBytes = async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      bytes += chunk.length
      if (bytes > free) throw new CommandError(`${archive} needs more space than is free in ${dirname(folder)}.`)
      yield chunk
    }
  }
  try {
    await runTar(['-xf', '-', '-C', folder], ({ stdin }) =>
      pipeline(
        createReadStream(archive),
        reportBytes(report, statSync(archive).size),
        createGunzip(),
        limitBytes,
        stdin,
      ),
    )
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${archive} is damaged or is not a backup: it cannot be unpacked.`)
  }
  return bytes
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
  const manifest = parseManifest(join(folder, manifestName))
  if (isRecord(manifest) && typeof manifest['format'] === 'number' && manifest['format'] > format)
    throw new CommandError(`${archive} was written by a newer version of svc-gateway; install that version first.`)
  if (listProblems(Manifest, manifest).length === 0) return manifest as Manifest
  throw new CommandError(`${archive} is not a backup of svc-gateway.`)
}

function parseManifest(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

async function describeEntries(folder: string): Promise<Map<string, string>> {
  const entries = new Map<string, string>()
  for (const path of listFiles(folder)) {
    const name = relative(folder, path).replaceAll(sep, '/')
    if (name !== manifestName) entries.set(name, await hashOf(path))
  }
  return entries
}

/** The absolute paths of all files below a folder. */
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

interface Limits {
  archive: string
  /** What was read from the archive. Only sparse files are larger. */
  bytes: number
}

const maxEntries = 1_000_000

/** Masks the modes. Throws if there is anything else than files and folders. */
function secureEntries(folder: string, { archive, bytes }: Limits): void {
  const folders = [folder]
  let entries = 0
  let size = 0
  const refuse = (reason: string): CommandError => new CommandError(`${archive} is not restored: ${reason}.`)

  function secure(path: string): void {
    const name = relative(folder, path).replaceAll(sep, '/')
    const stat = lstatSync(path)
    if (stat.isDirectory()) folders.push(path)
    else if (!stat.isFile()) throw refuse(`it has ${escapeInLine(name)}, which is neither a file nor a folder`)
    else if (stat.nlink > 1) throw refuse(`it has ${escapeInLine(name)}, which is a hard link`)
    else {
      chmodSync(path, 0o600 | (stat.mode & 0o100))
      size += stat.size
    }
  }

  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    chmodSync(next, 0o700)
    for (const name of readdirSync(next)) {
      secure(join(next, name))
      if (++entries > maxEntries) throw refuse(`it has more than ${maxEntries.toLocaleString('en')} files and folders`)
      if (size > bytes) throw refuse('it has files that are larger than what it holds of them')
    }
  }
}
