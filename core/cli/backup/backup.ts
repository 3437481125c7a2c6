// The command `backup`: writes one archive with the configuration and the state, also while the gateway runs.
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readLocatedConfig } from '../../config/file/locate.ts'
import { readVersion } from '../../version.ts'
import { copyStore } from '../../store/sqlite/copy.ts'
import { CommandError } from '../../plugin/errors.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { printJson } from '../terminal.ts'
import type { ProgressView } from '../../plugin/command.ts'
import { createProgressView, formatMegabytes } from '../progress.ts'
import { filesName, pack, storeName, unpack, writeManifest } from './archive.ts'
import { type Contents, listContents } from './contents.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

export interface BackupOptions {
  file: string
  config?: string
  force?: boolean
  json?: boolean
}

const steps = {
  store: { title: 'Copying the store', unit: 'bytes' },
  files: { title: 'Copying other files', unit: 'files' },
  archive: { title: 'Writing the archive', unit: 'bytes' },
  verify: { title: 'Verifying the archive', unit: 'bytes' },
} as const

type View = ProgressView<keyof typeof steps>

export async function backup({ file, config, force = false, json = false }: BackupOptions): Promise<void> {
  process.umask(0o077)
  const target = resolve(file)
  const document = readLocatedConfig(config)
  const contents = listContents(document)
  assertPossible(target, { store: contents.store, force })
  const view = createProgressView(steps, { json })
  const prefix = join(dirname(target), '.svc-gateway-backup-')
  await withTemporaryFolder(prefix, 'The backup was interrupted, and nothing was written.', async (folder) => {
    const content = join(folder, 'content')
    await copyContents(contents, { from: document.dir, to: content, view })
    const about = { version: readVersion(), createdAt: new Date().toISOString(), config: basename(document.file) }
    await writeManifest(content, about)
    const archive = join(folder, 'archive')
    await pack(content, { archive, report: (done, total) => view.report({ step: 'archive', done, total }) })
    const check = join(folder, 'check')
    mkdirSync(check)
    await unpack(archive, { folder: check, report: (done, total) => view.report({ step: 'verify', done, total }) })
    publish(archive, target, force)
  }).finally(view.end)
  const { files, links, outside } = contents
  const bytes = statSync(target).size
  if (json) return printJson({ type: 'result', file: target, bytes, files: files.length, links, outside })
  printResult({ target, bytes, links, outside })
}

function assertPossible(target: string, { store, force }: { store: string; force: boolean }): void {
  if (!existsSync(dirname(target)))
    throw new CommandError(`The folder ${dirname(target)} does not exist; create it first.`)
  if (existsSync(target) && !force) throw alreadyExists(target)
  if (!existsSync(store)) throw new CommandError(`There is no store at ${store}; the gateway has never been started.`)
}

const alreadyExists = (target: string) =>
  new CommandError(`${target} already exists; choose another name, or use --force to replace it.`)

interface Copy {
  from: string
  to: string
  view: View
}

async function copyContents({ store, files }: Contents, { from, to, view }: Copy): Promise<void> {
  mkdirSync(join(to, filesName), { recursive: true })
  await copyStore(store, {
    target: join(to, storeName),
    report: (done, total) => view.report({ step: 'store', done, total }),
  }).catch((error: Error) => {
    throw new CommandError(`The store cannot be copied: ${error.message}.`)
  })
  for (const [index, file] of files.entries()) {
    copyFile(join(from, file), join(to, filesName, file))
    view.report({ step: 'files', done: index + 1, total: files.length })
  }
}

/** An agent may delete a file of its workspace at this moment. */
function copyFile(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  try {
    const { atime, mtime } = statSync(from)
    copyFileSync(from, to)
    utimesSync(to, atime, mtime)
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

interface Result extends Pick<Contents, 'links' | 'outside'> {
  target: string
  bytes: number
}

function printResult({ target, bytes, links, outside }: Result): void {
  process.stdout.write(
    `Wrote ${target} (${formatMegabytes(bytes)}) and verified it. It contains secrets and private data, and only you ` +
      'can read it.\n',
  )
  for (const path of links)
    process.stderr.write(`Not included, because it is a link to a folder or to another place: ${escapeInLine(path)}\n`)
  for (const path of outside)
    process.stderr.write(`Not included, because it is outside the configuration directory: ${path}\n`)
}
