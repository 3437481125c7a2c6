// The command `restore`: puts the files of a backup in place, and keeps the files that were there.
import { copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { commandLine, firstConfigFile, locateConfig } from '../../config/file/locate.ts'
import { isInside } from '../../config/file/paths.ts'
import { readConfigFile } from '../../config/file/read.ts'
import { isRecord } from '../../config/walk.ts'
import { acquireLock } from '../../store/sqlite/lock.ts'
import { CommandError } from '../../plugin/errors.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { printJson } from '../terminal.ts'
import { createProgressView } from '../progress.ts'
import { quoteWord } from '../../kit/command-input.ts'
import { filesName, storeName, unpack } from './archive.ts'
import type { BackupOptions } from './backup.ts'
import { isFileIn, listOutside, locateStore, packageFile } from './contents.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

const steps = { verify: { title: 'Verifying the backup', unit: 'bytes' } } as const

interface RestoreOptions extends BackupOptions {
  store?: string
}

export async function restore({ file, config, store, force = false, json = false }: RestoreOptions): Promise<void> {
  process.umask(0o077)
  const archive = resolve(file)
  if (!existsSync(archive)) throw new CommandError(`${archive} does not exist.`)
  if (!statSync(archive).isFile()) throw new CommandError(`${archive} is not a file; name the archive of a backup.`)
  const target = locateTarget(config)
  mkdirSync(dirname(target), { recursive: true })
  const view = createProgressView(steps, { json })
  const prefix = join(dirname(target), '.svc-gateway-restore-')
  await withTemporaryFolder(prefix, 'The restore was interrupted, and nothing was changed.', async (folder) => {
    const report = (done: number, total: number): void => view.report({ step: 'verify', done, total })
    const manifest = await unpack(archive, { folder, report }).finally(view.end)
    const placement = { archive, target, name: manifest.config, store: store && resolve(store), force }
    const hasPackages = existsSync(join(folder, filesName, packageFile))
    const { kept, outside } = putInPlace(folder, placement)
    const install = hasPackages
      ? { install: `npm install --ignore-scripts --prefix ${quoteWord(dirname(target))}` }
      : {}
    printResult({ file: target, createdAt: manifest.createdAt, kept, outside, ...install }, json)
  })
}

interface Result {
  file: string
  createdAt: string
  /** The new paths of the files that were there. */
  kept: string[]
  /** What the restored configuration refers to outside its directory. */
  outside: string[]
  /** The command that installs the packages of its plugins. Absent: there are none. */
  install?: string
}

function printResult(result: Result, json: boolean): void {
  if (json) return printJson({ type: 'result', ...result })
  for (const path of result.outside)
    process.stderr.write(`Named by the configuration, but outside its directory: ${escapeInLine(path)}\n`)
  const check = commandLine(`check --config ${result.file}`)
  process.stdout.write(`Restored the backup of ${result.createdAt}. Check it with: ${check}\n`)
  if (result.install !== undefined)
    process.stdout.write(`Install the packages of its plugins first: ${result.install}\n`)
}

interface Placement {
  archive: string
  /** The configuration file to write. */
  target: string
  /** Its name in the backup. */
  name: string
  /** The absolute path for the store, if the user has given one. */
  store: string | undefined
  force: boolean
}

function putInPlace(folder: string, placement: Placement): Pick<Result, 'kept' | 'outside'> {
  const { target, name, force } = placement
  const dir = dirname(target)
  const files = join(folder, filesName)
  const restored = join(folder, 'configuration')
  renameSync(join(files, name), restored)
  const value = readRestored(restored, placement)
  const store = placement.store ?? locateInside({ value, dir, files }, placement)
  assertFree(store, { ...placement, files, dir })
  const names = readdirSync(files)
  const existing = listExisting({ dir, store, names: [...names, relative(dir, target)] })
  if (existing.length > 0 && !force) throw wouldReplace(dir, existing)
  assertStopped(store)
  const kept = keep(existing)
  for (const entry of names) renameSync(join(files, entry), join(dir, entry))
  renameSync(restored, target)
  mkdirSync(dirname(store), { recursive: true })
  copyFileSync(join(folder, storeName), store)
  return { kept, outside: listOutside(value, dir) }
}

const maxConfigBytes = 4 * 1024 * 1024

function readRestored(path: string, { archive }: Placement): Record<string, unknown> {
  try {
    if (statSync(path).size <= maxConfigBytes) return readConfigFile(path).value
  } catch {
    // What is wrong with it does not matter here: the command `backup` never writes such a file.
  }
  throw new CommandError(`${archive} is not restored: its configuration cannot be read.`)
}

interface Restored {
  value: Record<string, unknown>
  dir: string
  /** The folder of the files that the configuration names. */
  files: string
}

/** Whoever wrote the archive must not choose which file of this machine is written, or read. */
function locateInside({ value, dir, files }: Restored, { archive }: Placement): string {
  const advice = 'If you expect that, name the file of the store with --store'
  const url = isRecord(value['storage']) ? value['storage']['url'] : undefined
  if (isRecord(url) && !(typeof url['file'] === 'string' && isFileIn(files, url['file'])))
    throw new CommandError(
      `${archive} is not restored: storage.url is in a file that the backup does not have. ${advice}.`,
    )
  const store = locateStore({ value, dir }, files)
  if (isInside(dir, store)) return store
  const sentence = `its configuration keeps the store at ${escapeInLine(store)}, which is outside ${dir}`
  throw new CommandError(`${archive} is not restored: ${sentence}. ${advice} ${escapeInLine(quoteWord(store))}.`)
}

/** Throws if the store would replace a file of the backup, or become part of one. */
function assertFree(store: string, { archive, target, files, dir }: Placement & { files: string; dir: string }): void {
  const paths = ['', '-wal', '-shm', '-journal'].map((ending) => `${store}${ending}`)
  const isTaken = (path: string): boolean => path === target || hasEntry(files, relative(dir, path))
  if (!isInside(dir, store) || !paths.some(isTaken)) return
  throw new CommandError(
    `${archive} is not restored: its configuration keeps the store at ${escapeInLine(store)}, where the backup has ` +
      'another file.',
  )
}

/** Whether a folder has something at this path, or a file where the path needs a folder. */
function hasEntry(folder: string, path: string): boolean {
  let at = folder
  for (const name of path.split(sep)) {
    at = join(at, name)
    const stat = lstatSync(at, { throwIfNoEntry: false })
    if (!stat?.isDirectory()) return stat !== undefined
  }
  return true
}

function locateTarget(option: string | undefined): string {
  if (option !== undefined) return resolve(option)
  return locateConfig() ?? firstConfigFile()
}

interface Place {
  dir: string
  store: string
  /** Names in `dir` that the backup has. */
  names: readonly string[]
}

/** The paths that the restored files would replace. The folder of the store is replaced as a whole. */
function listExisting({ dir, store, names }: Place): string[] {
  const [first = '', ...rest] = relative(dir, store).split(sep)
  const folderOfStore = first !== '..' && rest.length > 0 ? [first] : []
  const inDir = [...new Set([...names, ...folderOfStore])].map((name) => join(dir, name))
  const ofStore = ['', '-wal', '-shm'].map((ending) => `${store}${ending}`)
  const separate = ofStore.filter((path) => !inDir.some((other) => path.startsWith(`${other}${sep}`)))
  return [...inDir, ...separate].filter((path) => existsSync(path))
}

function wouldReplace(dir: string, existing: readonly string[]): CommandError {
  const names = existing.map((path) => relative(dir, path)).join(', ')
  return new CommandError(
    `${dir} already has ${names}. Use --force to replace them; they are kept with the ending ".before-restore-<time>".`,
  )
}

function assertStopped(store: string): void {
  if (existsSync(dirname(store))) acquireLock(store).release()
}

function keep(existing: readonly string[]): string[] {
  const ending = `.before-restore-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  return existing.map((path) => {
    renameSync(path, `${path}${ending}`)
    process.stderr.write(`Kept ${path}${ending}\n`)
    return `${path}${ending}`
  })
}
