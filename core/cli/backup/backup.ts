// The command `backup`: writes one archive with the configuration and the state, also while the gateway runs.
import {
  closeSync,
  cpSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readLocatedConfig } from '../../config/file/read-located.ts'
import { readVersion } from '../../control/version.ts'
import { copyStore } from '../../store/sqlite/copy.ts'
import { CommandError } from '../command-error.ts'
import { filesName, pack, storeName, unpack, writeManifest } from './archive.ts'
import { type Contents, listContents } from './contents.ts'

export async function backup(file: string, { config, force = false }: { config?: string; force?: boolean }) {
  process.umask(0o077)
  const target = resolve(file)
  const document = readLocatedConfig(config)
  const contents = listContents(document)
  assertPossible(target, { store: contents.store, force })
  const folder = mkdtempSync(join(dirname(target), '.svc-gateway-backup-'))
  try {
    const content = join(folder, 'content')
    copyContents(contents, { from: document.dir, to: content })
    const about = { version: readVersion(), createdAt: new Date().toISOString(), config: basename(document.file) }
    await writeManifest(content, about)
    const archive = join(folder, 'archive')
    progress('Writing the archive')
    pack(content, archive)
    progress('Verifying the archive')
    const check = join(folder, 'check')
    mkdirSync(check)
    await unpack(archive, check)
    publish(archive, target, force)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  report(target, contents)
}

function assertPossible(target: string, { store, force }: { store: string; force: boolean }): void {
  if (!existsSync(dirname(target)))
    throw new CommandError(`The folder ${dirname(target)} does not exist; create it first.`)
  if (existsSync(target) && !force) throw alreadyExists(target)
  if (!existsSync(store)) throw new CommandError(`There is no store at ${store}; the gateway has never been started.`)
}

const alreadyExists = (target: string) =>
  new CommandError(`${target} already exists; choose another name, or use --force to replace it.`)

function copyContents({ store, files }: Contents, { from, to }: { from: string; to: string }): void {
  mkdirSync(join(to, filesName), { recursive: true })
  progress(`Copying the store (${describeSize(store)})`)
  copyStore(store, join(to, storeName))
  progress(`Copying ${files.length} ${files.length === 1 ? 'file' : 'files'}`)
  for (const file of files) copyFile(join(from, file), join(to, filesName, file))
}

/** An agent may delete a file of its workspace at this moment. */
function copyFile(from: string, to: string): void {
  try {
    cpSync(from, to, { verbatimSymlinks: true, preserveTimestamps: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** `link` never replaces a file that has appeared meanwhile. */
function publish(archive: string, target: string, force: boolean): void {
  const handle = openSync(archive, 'r+')
  fsyncSync(handle)
  closeSync(handle)
  if (force) return renameSync(archive, target)
  try {
    linkSync(archive, target)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? alreadyExists(target) : error
  }
}

function report(target: string, { outside }: Contents): void {
  process.stdout.write(
    `Wrote ${target} (${describeSize(target)}) and verified it. It contains secrets and private data, and only you ` +
      'can read it.\n',
  )
  for (const path of outside) progress(`Not included, because it is outside the configuration directory: ${path}`)
}

const describeSize = (path: string): string => `${(statSync(path).size / 1e6).toFixed(1)} MB`

/** Standard output is for the result. */
const progress = (sentence: string): void => void process.stderr.write(`${sentence}\n`)
