// Imports the built-in extensions, and plugins: JavaScript natively, TypeScript through jiti. `svc-gateway/plugin` and
// `svc-gateway/kit` resolve to those of this gateway.
import { constants, existsSync } from 'node:fs'
import { access, chmod, mkdir, readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'
import { describeThrown, firstLineOf } from '../errors.ts'
import * as kit from '../kit/kit.ts'
import * as contract from '../plugin/plugin.ts'
import { readVersion } from '../version.ts'
import { findMissingImport, isTypeScript } from './missing-exports.ts'
import { readManifest } from './plugin-package.ts'

export interface ImportedModule {
  /** The path of the module. */
  file: string
  /** Its default export. */
  exported: unknown
}

export interface Importer {
  /** Finds the module of an entry of `plugins`, a package or a path. */
  locate(entry: string): Promise<string>
  /** Imports the module of a plugin. */
  importPlugin(file: string): Promise<ImportedModule>
  /** The files that were imported so far, without those of installed packages. */
  files(): string[]
  /** Removes the resolver: plugins that import `svc-gateway/plugin` later may not find it. */
  close(): void
}

export interface ImporterOptions {
  /** The configuration directory, where relative paths and packages are looked up first. */
  dir: string
  /** The folder for compiled code. Default: `state/jiti` in the configuration directory. */
  cacheDir?: string | undefined
}

export function createImporter({ dir, cacheDir = join(dir, 'state', 'jiti') }: ImporterOptions): Importer {
  /** jiti knows the files that it compiles; this has the others. */
  const imported = new Set<string>()
  let compiled: NodeJS.Dict<unknown> = {}
  /** What compiled code looked for in the modules of this gateway and did not find. */
  const missing: MissingExportError[] = []
  const isPluginCode = (file: string): boolean => imported.has(file) || file in compiled || isJiti(file)
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const own = ownUrls.get(specifier)
      if (own !== undefined) return { url: own, shortCircuit: true }
      const resolved = next(specifier, context)
      const parent = pathOf(context.parentURL)
      const file = parent !== undefined && isPluginCode(parent) ? pathOf(resolved.url) : undefined
      if (file !== undefined) imported.add(file)
      return resolved
    },
  })
  let jiti: Promise<Jiti> | undefined
  return {
    locate: async (entry) => resolveEntry(await (jiti ??= openJiti({ dir, cacheDir }, missing)), entry, dir),
    async importPlugin(file) {
      const loader = await (jiti ??= openJiti({ dir, cacheDir }, missing))
      compiled = loader.cache
      imported.add(file)
      if (!isTypeScript(file)) return await importFile(file).catch((error: unknown) => refuse(error, file, loader))
      missing.length = 0
      const module = await loader.import<{ default?: unknown }>(file).catch((error: unknown) => {
        throw error instanceof TypeError ? (missing[0] ?? error) : error
      })
      refuseMissing(file, loader)
      // Of a module without a default export, jiti returns the module itself.
      return { file, exported: 'default' in module ? module.default : undefined }
    },
    files: () => [...new Set([...imported, ...Object.keys(compiled)])].filter((file) => !isInPackage(file)),
    close: () => hooks.deregister(),
  }
}

const isJiti = (file: string): boolean => /[\\/]node_modules[\\/]jiti[\\/]/.test(file)

const isInPackage = (file: string): boolean => /[\\/]node_modules[\\/]/.test(file)

/** Loads the built-in extensions when the first gateway of the process needs them. */
export async function importBuiltins(): Promise<ImportedModule> {
  return { file: import.meta.filename, exported: (await import('./builtins.ts')).builtins }
}

/** Loads the declarations of the built-in commands. */
export async function importBuiltinCommands(): Promise<ImportedModule> {
  return { file: import.meta.filename, exported: (await import('./builtin-commands.ts')).builtins }
}

async function importFile(file: string): Promise<ImportedModule> {
  return { file, exported: defaultOf(await import(pathToFileURL(file).href)) }
}

/** Node does not say where a module has a syntax error, but jiti does. */
async function refuse(error: unknown, file: string, loader: Jiti): Promise<never> {
  if (!(error instanceof SyntaxError)) throw error
  const missing = missingExportOf(error)
  if (missing) throw missing
  const compiled = loader.transform({ filename: file, source: await readFile(file, 'utf8') })
  const [, line, column] = /^exports\.__JITI_ERROR__ = .*"line":(\d+),"column":(\d+)/.exec(compiled) ?? []
  throw line === undefined ? error : new SyntaxError(`${error.message}\n${file}:${line}:${column}`)
}

/** What Node says about such an import in JavaScript. */
function refuseMissing(file: string, loader: Jiti): void {
  const found = findMissingImport(file, { loader, own: ownModules })
  if (!found) return
  const { module, name } = found
  if (module in ownModules) throw new MissingExportError(name, module)
  throw new SyntaxError(`${found.file} imports "${name}", which "${module}" does not export`)
}

/** Describes a failed import in a few words, with file and line if they are known. */
export function describeImportError(error: unknown): string {
  const { message = '' } = (error ?? {}) as { message?: string }
  const named = /^ *(\S.*:\d+:\d+) *$/m.exec(message) ?? /^Require stack:\n- (.+)$/m.exec(message)
  const place = named?.[1] ?? placeInPlugin(error)
  return place === undefined ? firstLineOf(error) : `${firstLineOf(error)}, at ${place}`
}

const pathOf = (url: string | undefined): string | undefined =>
  url?.startsWith('file:') ? fileURLToPath(url) : undefined

/** Code of this folder, also where a source map names it. */
const isOwn = (path: string): boolean => path.startsWith(import.meta.dirname) || /[\\/]core[\\/]loader[\\/]/.test(path)

/** `at connect (file:///plugins/pager.js:3:7)` → `/plugins/pager.js:3:7` */
function placeInPlugin(error: unknown): string | undefined {
  const place = describeThrown(error).at?.replace(/^.*\(|\)$/g, '')
  const [, url, position = ''] = /^(file:.*?)(:\d+:\d+)$/.exec(place ?? '') ?? []
  const path = url === undefined ? place : fileURLToPath(url) + position
  return path === undefined || isOwn(path) || path.startsWith('node:') ? undefined : path
}

/**
 * A plugin may be in any folder, and may have its own copy of this package for its tests. It gets the contract and the
 * kit of the gateway that runs it.
 */
const ownModules = { 'svc-gateway/plugin': contract, 'svc-gateway/kit': kit }
const ownUrls = new Map(Object.keys(ownModules).map((name) => [name, import.meta.resolve(name)]))

/** jiti caches compiled code and executes it later, so only the owner may write to its folder. */
async function openJiti(
  { dir, cacheDir }: { dir: string; cacheDir: string },
  missing: MissingExportError[],
): Promise<Jiti> {
  const { createJiti } = await import('jiti')
  return createJiti(join(dir, 'gateway.json5'), {
    fsCache: (await isWritable(cacheDir)) && cacheDir,
    virtualModules: Object.fromEntries(
      Object.entries(ownModules).map(([module, exported]) => [
        module,
        watchExports(exported, (name) => missing.push(new MissingExportError(name, module))),
      ]),
    ),
  })
}

/**
 * Compiled code reads a missing export as `undefined`, and fails later with an error that does not name it. A plugin may
 * look for an export that only newer gateways have, so this alone is no error.
 */
const watchExports = (exported: object, onMissing: (name: string) => void): object =>
  new Proxy(exported, {
    has(target, key) {
      const isFound = Reflect.has(target, key)
      // A promise calls `then` of whatever it resolves with.
      if (!isFound && typeof key === 'string' && key !== 'then') onMissing(key)
      return isFound
    },
  })

/** A plugin imports what this version of `svc-gateway/plugin` or `svc-gateway/kit` does not have. */
export class MissingExportError extends Error {
  override readonly name = 'MissingExportError'
  /** The export and the module, as the end of a sentence. */
  constructor(exported: string, module: string) {
    super(`imports "${exported}", which ${module} does not have in version ${readVersion()}`)
  }
}

/** The error of Node about an import that a module does not export. */
function missingExportOf(error: unknown): MissingExportError | undefined {
  const pattern = /^The requested module '(svc-gateway\/\w+)' does not provide an export named '([\w$]+)'/
  const [, module, name] = pattern.exec(error instanceof SyntaxError ? error.message : '') ?? []
  return module !== undefined && name !== undefined ? new MissingExportError(name, module) : undefined
}

function resolveEntry(jiti: Jiti, entry: string, dir: string): string {
  const find = (name: string, parentURL: string) => jiti.esmResolve(name, { parentURL, try: true })
  const url =
    find(entry, pathToFileURL(join(dir, 'gateway.json5')).href) ??
    find(entry, import.meta.url) ??
    findPackageModule(resolve(dir, entry), find)
  if (url === undefined) throw new Error(`it was not found; install it, or write the path relative to ${dir}`)
  return fileURLToPath(url)
}

/** The module that a folder with a package exports to others. */
function findPackageModule(
  folder: string,
  find: (name: string, parentURL: string) => string | undefined,
): string | undefined {
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) return undefined
  const { name } = readManifest(manifest)
  return typeof name === 'string' ? find(name, pathToFileURL(manifest).href) : undefined
}

/** CommonJS that was compiled from a default export is wrapped once more. */
function defaultOf(module: { default?: unknown }): unknown {
  const inner = module.default as { __esModule?: boolean; default?: unknown } | undefined
  return inner?.__esModule ? inner.default : inner
}

/** Without a folder for it, compiled code is not kept: a plugin is compiled at each start. */
async function isWritable(cacheDir: string): Promise<boolean> {
  try {
    await mkdir(cacheDir, { recursive: true, mode: 0o700 })
    await chmod(cacheDir, 0o700)
    await access(cacheDir, constants.W_OK)
    return true
  } catch {
    return false
  }
}
