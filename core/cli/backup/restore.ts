// The command `restore`: puts the files of a backup in place, and keeps the files that were there.
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { commandLine, firstConfigFile, locateConfig } from '../../config/file/locate.ts'
import { readConfigFile } from '../../config/file/read.ts'
import { acquireLock } from '../../store/sqlite/lock.ts'
import { CommandError } from '../command-error.ts'
import { printJson } from '../inspect/output.ts'
import { createProgressView } from '../progress.ts'
import { filesName, storeName, unpack } from './archive.ts'
import type { BackupOptions } from './backup.ts'
import { locateStore } from './contents.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

const steps = { verify: { title: 'Verifying the backup', unit: 'bytes' } } as const

export async function restore(file: string, { config, force = false, json = false }: BackupOptions): Promise<void> {
  process.umask(0o077)
  const archive = resolve(file)
  if (!existsSync(archive)) throw new CommandError(`${archive} does not exist.`)
  const target = locateTarget(config)
  mkdirSync(dirname(target), { recursive: true })
  const view = createProgressView(steps, { json })
  const prefix = join(dirname(target), '.svc-gateway-restore-')
  await withTemporaryFolder(prefix, 'The restore was interrupted, and nothing was changed.', async (folder) => {
    const report = (done: number, total: number): void => view.report({ step: 'verify', done, total })
    const manifest = await unpack(archive, { folder, report }).finally(view.end)
    const kept = putInPlace(folder, { target, name: basename(manifest.config), force })
    const result = { type: 'result', file: target, createdAt: manifest.createdAt, kept }
    const check = commandLine(`check --config ${target}`)
    if (json) printJson(result)
    else process.stdout.write(`Restored the backup of ${result.createdAt}. Check it with: ${check}\n`)
  })
}

interface Placement {
  /** The configuration file to write. */
  target: string
  /** Its name in the backup. */
  name: string
  force: boolean
}

/** @returns the new paths of the files that were there */
function putInPlace(folder: string, { target, name, force }: Placement): string[] {
  const dir = dirname(target)
  const files = join(folder, filesName)
  const restored = join(folder, 'configuration')
  renameSync(join(files, name), restored)
  const store = locateStore({ value: readConfigFile(restored).value, dir }, files)
  const names = readdirSync(files)
  const existing = listExisting({ dir, store, names: [...names, relative(dir, target)] })
  if (existing.length > 0 && !force) throw wouldReplace(dir, existing)
  assertStopped(store)
  const kept = keep(existing)
  for (const entry of names) renameSync(join(files, entry), join(dir, entry))
  renameSync(restored, target)
  mkdirSync(dirname(store), { recursive: true })
  copyFileSync(join(folder, storeName), store)
  return kept
}

function locateTarget(option: string | undefined): string {
  if (option !== undefined) return resolve(option)
  const surroundings = { cwd: process.cwd(), home: homedir() }
  return locateConfig({ ...surroundings, env: process.env }) ?? firstConfigFile(surroundings)
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
