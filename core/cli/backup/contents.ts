// Decides which files belong to a backup: the configuration, what it refers to, and the state.
import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { ConfigDocument } from '../../config/file/read.ts'
import { confine, isInside } from '../../config/file/paths.ts'
import { readStorageUrl, type StoredUrl } from '../../config/file/storage-url.ts'
import { isRecord } from '../../config/walk.ts'
import { fieldsOf, listOf } from '../../kit/shapes.ts'
import { parseStoreUrl } from '../../store/store-url.ts'
import { CommandError } from '../../plugin/errors.ts'

export interface Contents {
  /** The absolute path of the store. */
  store: string
  /** Files, and links to files, relative to the configuration directory. The store is not among them. */
  files: string[]
  /** Links that are left out: to folders, and to what is outside of the configuration directory. */
  links: string[]
  /** What the configuration refers to outside its directory. */
  outside: string[]
}

export function listContents(document: ConfigDocument): Contents {
  const { dir, file } = document
  const store = locateStore(document)
  const named = [file, 'state', ...packageFilesOf(dir), ...referencesOf(document.value, dir)].map((path) =>
    resolve(dir, path),
  )
  const existing = [...new Set(named)].filter((path) => existsSync(path))
  const inside = existing.filter((path) => isInside(dir, path))
  const installed = pluginsOf(document.value, dir).map((path) => join(path, 'node_modules', sep))
  const found = inside
    .flatMap(filesIn)
    .filter((path) => !isLeftOut(path, store) && !installed.some((folder) => path.startsWith(folder)))
  const names = [...new Set(found.map((path) => relative(dir, path)))].toSorted((a, b) => (a < b ? -1 : 1))
  const isKept = (name: string): boolean => {
    const path = join(dir, name)
    return path === file || !lstatSync(path).isSymbolicLink() || isFileIn(dir, name)
  }
  return {
    store,
    files: names.filter(isKept),
    links: names.filter((name) => !isKept(name)),
    outside: existing.filter((path) => !isInside(dir, path)),
  }
}

/** The paths outside of its directory to which a configuration refers, whether or not they exist. */
export const listOutside = (value: Record<string, unknown>, dir: string): string[] =>
  [...new Set(referencesOf(value, dir).map((path) => resolve(dir, path)))].filter((path) => !isInside(dir, path))

/** Whether a relative path leads to a file inside a folder, with all links resolved. */
export function isFileIn(folder: string, path: string): boolean {
  try {
    return statSync(confine(folder, path)).isFile()
  } catch {
    return false
  }
}

/** `filesDir` has the files that the configuration names, if they are not in the configuration directory yet. */
export function locateStore(document: StoredUrl, filesDir = document.dir): string {
  const address = parseStoreUrl(readStorageUrl({ ...document, dir: filesDir }), document)
  if (address.engine === 'sqlite') return address.path
  throw new CommandError(
    'The store is a PostgreSQL database, which "backup" and "restore" do not copy. Use pg_dump and pg_restore for ' +
      'the database, and copy the configuration and the workspaces.',
  )
}

/** What npm needs to install the packages of plugins again. In a checkout, these files are the gateway's own. */
function packageFilesOf(dir: string): string[] {
  const isCheckout = existsSync(join(dir, 'core', 'main.ts'))
  return isCheckout ? [] : [packageFile, 'package-lock.json']
}

export const packageFile = 'package.json'

/** The paths of transforms, workspaces, plugins and secret files. */
function referencesOf(value: Record<string, unknown>, dir: string): string[] {
  const workspaces = Object.values(fieldsOf(value['agents'])).map((agent) => fieldsOf(agent)['workspace'])
  return [
    fieldsOf(value['hooks'])['transformsDir'] ?? 'transforms',
    ...workspaces,
    ...pluginsOf(value, dir),
    ...secretFilesOf(value),
  ].filter((path) => typeof path === 'string')
}

/** The absolute paths of the plugins that are not installed packages. */
const pluginsOf = (value: Record<string, unknown>, dir: string): string[] =>
  listOf(value['plugins']).flatMap((name) =>
    typeof name === 'string' && (/^\.{1,2}\//.test(name) || isAbsolute(name)) ? packageOf(resolve(dir, name), dir) : [],
  )

/** The folder of the package to which the file of a plugin belongs, because it imports other files of it. */
function packageOf(file: string, dir: string): string {
  for (let folder = dirname(file); folder !== dir && isInside(dir, folder); folder = dirname(folder))
    if (existsSync(join(folder, packageFile))) return folder
  return file
}

/** The schema that marks secrets depends on plugins, so that every `{ file }` counts. */
function secretFilesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(secretFilesOf)
  if (!isRecord(value)) return []
  const { file } = value
  return [...(typeof file === 'string' ? [file] : []), ...Object.values(value).flatMap(secretFilesOf)]
}

/** The path itself, or all files and links below it. Sockets and the like are left out. */
function filesIn(path: string): string[] {
  const stat = lstatSync(path)
  if (stat.isDirectory()) return readdirSync(path).flatMap((name) => filesIn(join(path, name)))
  return stat.isFile() || stat.isSymbolicLink() ? [path] : []
}

/** The store is copied in another way. The others are caches, locks and addresses of the running process. */
function isLeftOut(path: string, store: string): boolean {
  const isOfStore = path.startsWith(store) && /^(?:-wal|-shm|\.lock|\.pid|\.before-.*)?$/.test(path.slice(store.length))
  return isOfStore || path.includes(`${sep}state${sep}jiti${sep}`) || basename(path).endsWith('.listening')
}
